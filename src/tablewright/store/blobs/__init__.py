"""Large values outside of their items: blob stores, references, offloading, orphans."""
