import { once } from 'node:events'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { until } from '../../run/until.ts'

/*
 * Main module of a process that opens a transaction of topic `t`, says so when its record is in the log, and
 * commits it when it gets a message.
 */

const [directory = ''] = process.argv.slice(2)
const topics = new LogTopics(directory)
if (!(await topics.has('t'))) await topics.create('t', { partitions: 1 })
const producer = await topics.producer('t', 'other')
// Larger than a batch, so that it is sent at once.
producer.sendRecord(null, new Uint8Array(300_000), 1, 0, [])
await until('the record is in the log', async () => (await topics.bounds('t'))[0]!.end > 0)
process.send?.('open')
await once(process, 'message')
await producer.sync()
await producer.close()
await topics[Symbol.asyncDispose]()
process.disconnect()
