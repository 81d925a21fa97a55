import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * A server that no one attacks and that does nothing: what its client waits for is what the machine costs, which
 * is no fault of a server that is attacked. It answers each message with its port.
 */

const server = createServer((_request, response) => response.end('{}'))
server.listen(0, '127.0.0.1')
process.on('message', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())
