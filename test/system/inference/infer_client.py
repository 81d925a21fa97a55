"""An INFER client, written from docs/reference/query-protocol.md alone; it needs Python's standard library only.

infer_client.py PORT: prints one JSON object with what the server answered.
"""
import json
import socket
import struct
import sys


def text(value):
    data = value.encode()
    return struct.pack("<H", len(data)) + data


def pack_map(fields):
    """A MessagePack map of short texts."""
    out = bytes([0x80 | len(fields)])
    for key, value in fields.items():
        for word in (key, value):
            data = word.encode()
            out += bytes([0xA0 | len(data)]) + data
    return out


class Unpacker:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(form)))[0]

    def value(self):
        token = self.number("B")
        if token < 0x80:
            return token
        if token < 0x90:
            return self.map(token & 15)
        if token < 0xA0:
            return [self.value() for _ in range(token & 15)]
        if token < 0xC0:
            return self.take(token & 31).decode()
        if token >= 0xE0:
            return token - 256
        plain = {0xC0: None, 0xC2: False, 0xC3: True}
        if token in plain:
            return plain[token]
        forms = {0xCA: "f", 0xCB: "d", 0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q", 0xD0: "b", 0xD1: "h", 0xD2: "i", 0xD3: "q"}
        if token in forms:
            return self.number(forms[token])
        if token in (0xD9, 0xDA, 0xDB):
            return self.take(self.number("BHI"[token - 0xD9])).decode()
        if token in (0xDC, 0xDD):
            return [self.value() for _ in range(self.number("HI"[token - 0xDC]))]
        return self.map(self.number("HI"[token - 0xDE]))

    def map(self, count):
        return {self.value(): self.value() for _ in range(count)}


class Client:
    HELLO, INFER, MODELS, ERROR = 0x01, 0x0A, 0x0C, 0xFF

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.next_id = 1
        hello = b"WEIR" + bytes([1, 1, 0, 0]) + struct.pack("<I", 1 << 24)
        self.send(self.HELLO, 0, hello + pack_map({"token": "", "job": "", "client": "py"}))
        self.receive()

    def send(self, kind, request_id, body):
        self.socket.sendall(struct.pack("<IBBHI", 8 + len(body), kind, 0, 1, request_id) + body)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data

    def receive(self):
        length, kind, _flags, _count, request_id = struct.unpack("<IBBHI", self.exactly(12))
        return kind, request_id, self.exactly(length - 8)

    def ask(self, kind, state, version, deadline_ms, body):
        preamble = struct.pack("<IIBBHiq", version, deadline_ms, 0, 0, len(state.encode()), 0, 0)
        request_id = self.next_id
        self.next_id += 1
        self.send(kind, request_id, preamble + state.encode() + body)
        answered, answered_id, data = self.receive()
        assert answered_id == request_id
        if answered == self.ERROR:
            raise RuntimeError(Unpacker(data[1:]).value()["code"])
        assert answered == kind + 0x80
        return struct.unpack_from("<I", data)[0], data[24:]

    def models(self):
        _, data = self.ask(self.MODELS, "", 0, 0, pack_map({"action": "list", "model": ""}))
        return Unpacker(data).value()["models"]

    def infer(self, model, tensors, version=0, deadline_ms=0):
        body = struct.pack("<HH", 0, len(tensors))
        for name, shape, values in tensors:
            data = struct.pack(f"<{len(values)}f", *values)
            body += text(name) + bytes([11, len(shape)])
            body += struct.pack(f"<{len(shape)}I", *shape) + struct.pack("<I", len(data)) + data
        version, data = self.ask(self.INFER, model, version, deadline_ms, body)
        flags = data[0]
        reason_length = struct.unpack_from("<H", data, 1)[0]
        at = 3 + reason_length
        _queue, _run, items, count = struct.unpack_from("<IIIH", data, at)
        at += 14
        outputs = {}
        for _ in range(count):
            length = struct.unpack_from("<H", data, at)[0]
            name = data[at + 2 : at + 2 + length].decode()
            at += 2 + length
            datatype, rank = data[at], data[at + 1]
            shape = struct.unpack_from(f"<{rank}I", data, at + 2)
            at += 2 + 4 * rank
            size = struct.unpack_from("<I", data, at)[0]
            assert datatype == 11
            outputs[name] = {"shape": shape, "data": struct.unpack_from(f"<{size // 4}f", data, at + 4)}
            at += 4 + size
        assert at == len(data)
        return {"version": version, "flags": flags, "items": items, "outputs": outputs}


client = Client(int(sys.argv[1]))
result = {"models": [(m["name"], m["liveVersion"], m["inputs"]) for m in client.models()]}
tensors = [("x", (2, 2), (1.0, 2.0, 3.0, 4.0))]
result["answer"] = client.infer("add", tensors)
result["pinned"] = client.infer("add", tensors, version=result["answer"]["version"], deadline_ms=20000)["version"]
errors = []
for model, inputs in (("sub", tensors), ("add", [("z", (1,), (1.0,))])):
    try:
        client.infer(model, inputs)
    except RuntimeError as error:
        errors.append(str(error))
result["errors"] = errors
print(json.dumps(result))
