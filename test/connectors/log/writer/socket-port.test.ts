import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { serialize } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { openLog, temporaryFolder } from '../fixture.ts'

async function connect(directory: string): Promise<Socket> {
  const socket = createConnection(join(directory, '.owner.sock'))
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  socket.resume()
  return socket
}

function frame(body: Uint8Array, length = body.length): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32LE(length)
  return Buffer.concat([header, body])
}

const request = (method: unknown, args: unknown): Buffer =>
  frame(serialize({ id: 1, method, args }))

describe('the socket of the owner of a log', () => {
  it('is for the user of its process alone', async () => {
    const directory = temporaryFolder()
    await openLog(directory)
    await connect(directory)
    const modeOf = () => statSync(join(directory, '.owner.sock')).mode & 0o777
    // It listens for a moment before it is closed to others, in a folder of its user.
    await expect.poll(modeOf).toBe(0o600)
  })

  it.each([
    ['bytes that are no message', frame(Buffer.from('this is no structured clone'))],
    ['null', frame(serialize(null))],
    ['a text', frame(serialize('text'))],
    ['a call without arguments', frame(serialize({ id: 1, method: 'sync' }))],
    ['an id that is no number', frame(serialize({ id: 'x', method: 'sync', args: [] }))],
    ['an impossible length', frame(Buffer.alloc(0), 0xffffffff)],
  ])('ends the connection of a client that sends %s', async (_, bytes) => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    const socket = await connect(directory)
    socket.write(bytes)
    await once(socket, 'close')
    await log.createTopic('t')
    expect(log.topics()).toEqual(['t'])
  })

  it.each([
    ['an unknown method', request('constructor', [])],
    ['an append of no batch', request('append', ['t', 0, new Array(100).fill(1)])],
    ['an append of random bytes', request('append', ['t', 0, new Uint8Array(100).fill(7)])],
    ['a topic without a name', request('createTopic', [null, null])],
    ['a transaction without a name', request('endTransaction', [null, true])],
    ['an id that is no text', request('initProducer', [7])],
  ])('answers %s with an error, and no partition fails', async (_, bytes) => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const socket = await connect(directory)
    const answers: Buffer[] = []
    socket.on('data', (chunk) => answers.push(chunk))
    socket.write(bytes)
    await expect.poll(() => Buffer.concat(answers).toString('latin1')).toContain('failure')
    const producer = log.producer('t')
    producer.send(null, Buffer.from('good'), 1)
    await producer.sync()
    expect(log.bounds('t', 0).endOffset).toBe(1)
    socket.destroy()
  })

  it('reads a message of 32 MiB in linear time', async () => {
    const directory = temporaryFolder()
    const log = await openLog(directory)
    await log.createTopic('t')
    const socket = await connect(directory)
    const answers: Buffer[] = []
    socket.on('data', (chunk) => answers.push(chunk))
    const before = process.cpuUsage()
    socket.write(request('append', ['t', 0, new Uint8Array(32 * 1024 * 1024)]))
    await expect.poll(() => Buffer.concat(answers).toString('latin1')).toContain('failure')
    // With a copy of all bytes for each chunk it took 15 s of a processor.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(5)
    socket.destroy()
  })
})
