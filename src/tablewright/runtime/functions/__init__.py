"""AWS Lambda functions of a system, called by API Gateway, a stream, a schedule, or for bounced mail.

    api_function        requests, as API Gateway's HTTP API sends them
    consumer_function   records of a stream, as an event source mapping sends them
    schedule_function   a turn of background work
    bounce_function     what SES reports about mail, through SNS
    function_process    what they share: the system, opened once for all calls that a process gets

Each has a ``handler``. They run the same objects as ``tablewright up``; only the caller differs.
"""
