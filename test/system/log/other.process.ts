import { once } from 'node:events'
import { EmbeddedLog } from '../../../src/connectors/log/embedded-log.ts'

/* Main module of a process that writes to a log, as its owner or next to the owner. */

const [directory = '', mode = ''] = process.argv.slice(2)
const encoder = new TextEncoder()
/** Records of the mode `many`. */
const MANY = 4000

async function write(log: EmbeddedLog, ...values: readonly string[]): Promise<void> {
  const producer = log.producer('t')
  for (const value of values) producer.sendRecord(null, encoder.encode(value), 1, 0, [])
  await producer.sync()
}

const log = await EmbeddedLog.open(directory)
if (mode === 'owner') {
  process.send?.('open')
  await once(process, 'message')
} else if (mode === 'records') {
  await log.createTopic('t', { partitions: 1 })
  await write(log, '0', '1', '2')
} else if (mode === 'transaction') {
  const producer = log.producer('t')
  await producer.begin('other')
  producer.sendRecord(null, encoder.encode('together'), 1, 0, [])
  await producer.commit()
} else if (mode === 'many') {
  const producer = log.producer('t')
  for (let i = 0; i < MANY; i++) {
    producer.sendRecord(null, encoder.encode(`${i}`), 1, 0, [])
    if (i === MANY / 4) process.send?.('a part is sent')
    if (i % 10 === 0) await producer.flush()
    if (i % 500 === 0) await producer.sync()
  }
  await producer.sync()
} else {
  await log.createTopic('t', { partitions: 1 })
  await write(log, 'before')
  process.send?.('written')
  await once(process, 'message')
  await write(log, 'after')
  process.send?.('written again')
}
await log.close().catch(() => undefined)
process.disconnect()
