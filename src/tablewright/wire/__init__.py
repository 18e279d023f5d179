"""The engine behind DynamoDB's protocol.

    server      listens; owns the event loop, the time-outs, the group commit and the graceful stop
    connection  one client's connection: bytes in, requests out, answers back in order, all limits
    service     what DynamoDB's endpoint does with one request: the order of its checks, its answers
    messages    the two sides of an exchange: a request as it was read, an answer as it is sent
    targets     the operations that ``X-Amz-Target`` may name
    sigv4       AWS Signature Version 4, checked for form or verified against known credentials
    boto        boto3 and botocore clients that call an engine in this process, without a socket
    parsing     botocore's response parsing for those clients, compiled from the service model

Nothing is imported here: a program that only wants in-process clients should not load the server.
"""
