"""A client of Weir's query protocol, written from docs/reference/query-protocol.md alone.

usage: query_client.py PORT STATE LEFT RIGHT [LEFT RIGHT ...]
Prints one JSON object a line: hello, routing, predictions, rows, an error.
"""

import json
import socket
import struct
import sys


def unpack_msgpack(data, at=0):
    token = data[at]
    at += 1
    if token < 0x80:
        return token, at
    if token >= 0xE0:
        return token - 256, at
    if token < 0xA0:
        return unpack_many(data, at, token & 0x0F, token < 0x90)
    if token < 0xC0:
        return data[at : at + (token & 0x1F)].decode(), at + (token & 0x1F)
    if token in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[token], at
    numbers = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
    numbers.update({0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"})
    if token in numbers:
        width = struct.calcsize(numbers[token])
        return struct.unpack_from(numbers[token], data, at)[0], at + width
    sizes = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
    count = struct.unpack_from(sizes[token], data, at)[0]
    at += struct.calcsize(sizes[token])
    if token <= 0xDB:
        return data[at : at + count].decode(), at + count
    return unpack_many(data, at, count, token >= 0xDE)


def unpack_many(data, at, count, is_map):
    values = []
    for _ in range(count * 2 if is_map else count):
        value, at = unpack_msgpack(data, at)
        values.append(value)
    return (dict(zip(values[::2], values[1::2])) if is_map else values), at


def text(value):
    data = value.encode()
    return bytes([0xA0 | len(data)]) + data


def key(value):
    data = value.encode()
    return struct.pack("<H", len(data)) + data


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.next_id = 1
        envelope = b"\x83" + b"".join(text(t) for t in ("token", "", "job", "", "client", "py"))
        self.send(0x01, 0, 1, 0, b"WEIR" + struct.pack("<BBHI", 1, 1, 0, 1 << 20) + envelope)
        body = self.receive()[4]
        self.welcome = unpack_msgpack(body, 16)[0]

    def send(self, kind, flags, count, request, body):
        header = struct.pack("<IBBHI", 8 + len(body), kind, flags, count, request)
        self.socket.sendall(header + body)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            chunk = self.socket.recv(count - len(data))
            if not chunk:
                raise EOFError("the server closed the connection")
            data += chunk
        return data

    def receive(self):
        length, kind, flags, count, request = struct.unpack("<IBBHI", self.exactly(12))
        return kind, flags, count, request, self.exactly(length - 8)

    def ask(self, kind, flags, count, state, body):
        request = self.next_id
        self.next_id += 1
        preamble = struct.pack("<IIBBHiq", 0, 5000, 0, 0, len(state.encode()), 0, 0)
        self.send(kind, flags, count, request, preamble + state.encode() + body)
        return request

    def routing(self):
        self.send(0x08, 0, 0, self.next_id, b"")
        self.next_id += 1
        return unpack_msgpack(self.receive()[4])[0]

    def predict(self, state, pairs):
        self.ask(0x02, 0, len(pairs), state, b"".join(key(a) + key(b) for a, b in pairs))
        answers, still_open = {}, list(range(len(pairs)))
        while still_open:
            kind, _, count, _, body = self.receive()
            if kind == 0xFF:
                return {"error": unpack_msgpack(body, 1)[0]["code"]}
            covered, still_open = still_open[:count], still_open[count:]
            for i, index in enumerate(covered):
                status, _, score = struct.unpack_from("<BBf", body, 24 + 6 * i)
                if status == 255:
                    still_open.append(index)
                else:
                    answers[index] = score if status == 0 else {"status": status}
        return [answers[i] for i in range(len(pairs))]

    def row(self, state, name):
        self.ask(0x03, 1, 1, state, key(name))
        body = self.receive()[4]
        if body[24] != 0:
            return {"status": body[24]}
        slot, partition, offset, age, size = struct.unpack_from("<HiqdI", body, 26)
        floats = struct.unpack_from("<%df" % (size // 4), body, 26 + 26)
        return {"slot": slot, "partition": partition, "offset": offset, "age": age, "row": floats}


if __name__ == "__main__":
    client = Client(int(sys.argv[1]))
    state, keys = sys.argv[2], sys.argv[3:]
    print(json.dumps(client.welcome))
    print(json.dumps(client.routing()))
    print(json.dumps(client.predict(state, list(zip(keys[::2], keys[1::2])))))
    print(json.dumps(client.row(state, keys[0])))
    print(json.dumps(client.predict("no such state", [("a", "b")])))
