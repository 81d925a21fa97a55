import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

/*
 * What a port of gRPC in Node.js costs at least: reads each call to its end, and answers with the same message of no
 * bytes. Prints its port.
 */

const EMPTY_MESSAGE = Buffer.alloc(5)

function answer(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(EMPTY_MESSAGE)
}

const server = createServer()
server.on('stream', (stream) => stream.resume().once('end', () => answer(stream)))
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
