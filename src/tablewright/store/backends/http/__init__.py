"""HTTP/1.1 to an endpoint: a protocol implementation without I/O, and two pools that do the I/O.

response_reader   bytes become responses
channel           the steps before the first request: proxies and TLS, as generators of bytes
exchange          a request as bytes with its deadline, and the errors of an exchange that failed
socket_pool       the connections of threads, on blocking sockets
loop_pool         the connections of an event loop
"""
