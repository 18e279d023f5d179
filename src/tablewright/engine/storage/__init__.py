"""The storage: the data folder, the encoding of keys, group commit, forks, verification."""
