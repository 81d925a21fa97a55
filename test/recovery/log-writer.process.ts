/*
 * Appends numbered records until it is killed, and prints how many are acknowledged. It runs as a process or as
 * a worker thread: `<directory> <topic> <records per flush>`.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'

const args = isMainThread ? process.argv.slice(2) : (workerData as string[])
const [directory = '', topic = '', perFlush = '1'] = args
const log = await EmbeddedLog.open(directory, { fsync: 'none' })
await log.createTopic(topic, { segmentBytes: 100_000 })
const producer = log.producer(topic)
let next = log.bounds(topic, 0).endOffset
for (;;) {
  for (let i = 0; i < Number(perFlush); i++) {
    producer.send(null, new TextEncoder().encode(String(next++)), 1, { partition: 0 })
  }
  await producer.flush()
  if (isMainThread) process.stdout.write(`${next}\n`)
  else parentPort?.postMessage(next)
}
