"""Measurements of Tablewright beside other local implementations of DynamoDB, as ratios from one run.

in_process   boto3 without a socket: Tablewright against moto
http         sixteen connections: Tablewright's server against DynamoDB Local, dynalite, dynoxide and moto's server
store        the store against boto3 with the peers, against `engine.call`, and against PynamoDB and pydynox
remote       the store on an endpoint 2 ms away and next door: against aiodynamo, aiobotocore, pydynox and PynamoDB
services     the systems over HTTP: each call against an empty route with the same authentication
services_postgres   create, get and list of Service Desk against the same calls by hand on PostgreSQL
support      tickets of Support under load, and how far behind its metrics are
engagement   customers of a batch run, and reads of the best candidates
studio       the first screen of the studio and pages of a million items, in Chromium
copy         `tablewright copy` from server to server, against a loop over boto3
relocation   `tablewright relocate` under load: how fast it copies and follows, and what a writer waits at the cut
scale        a million items against ten thousand, and memory
startup      from nothing to the first write, over a bare interpreter

`python -m benchmarks [PART ...]` (or `make bench PART=http`) measures and writes docs/benchmarks.md.
Absolute figures belong to the machine; a ratio of two figures taken in turns on it does so much less. Each
target is therefore measured several times, in turns with the others, and the median is taken.
"""
