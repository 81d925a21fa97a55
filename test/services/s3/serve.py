# A moto whose conditional writes exclude each other: it looks for the object and writes it without a lock, so that of two
# creates at the same time both may succeed. Arguments: the port.
import sys
import threading

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

moto = DomainDispatcherApplication(create_backend_app)
condition = threading.Lock()


def application(environ, start_response):
    if "HTTP_IF_NONE_MATCH" not in environ:
        return moto(environ, start_response)
    with condition:
        return list(moto(environ, start_response))


run_simple("127.0.0.1", int(sys.argv[1]), application, threaded=True)
