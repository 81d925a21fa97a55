/**
 * Node's `http`. An `import` of it reads all its exports, the WebSocket client among them, whose module costs each
 * process and thread 50 ms of processor time; this way loads only the server and the client.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
