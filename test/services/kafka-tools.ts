import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { KafkaBroker } from './kafka-broker.ts'

/** Runs `java` with these arguments and returns its standard output. Throws when it fails. */
export async function runJavaTool(args: readonly string[], input: string): Promise<string> {
  const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const out: Buffer[] = []
  const said: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk))
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  const text = Buffer.concat(out).toString()
  if (code === 0) return text
  throw new Error(`${args.slice(-8).join(' ')} ended with ${code}: ${Buffer.concat(said)}${text}`)
}

/** Java's console producer: lines `key<TAB>value` into a topic, with a compression. */
export async function produceWithJava(
  broker: KafkaBroker,
  topic: string,
  lines: readonly string[],
  compression = 'none',
): Promise<void> {
  await broker.tool(
    'org.apache.kafka.tools.ConsoleProducer',
    [
      '--topic',
      topic,
      '--compression-codec',
      compression,
      '--reader-property',
      'parse.key=true',
      '--batch-size',
      '16384',
    ],
    `${lines.join('\n')}\n`,
  )
}

/** Java's console consumer, read_committed, from the beginning: lines `key<TAB>value`. */
export async function consumeWithJava(
  broker: KafkaBroker,
  topic: string,
  count: number,
): Promise<string[]> {
  const text = await broker.tool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
    '--topic',
    topic,
    '--from-beginning',
    '--isolation-level',
    'read_committed',
    '--formatter-property',
    'print.key=true',
    '--max-messages',
    String(count),
    '--timeout-ms',
    '15000',
  ])
  return text.split('\n').filter((line) => line !== '')
}

/** Partition to lag, as `kafka-consumer-groups --describe` tells it. */
export async function groupLag(broker: KafkaBroker, group: string): Promise<Map<number, number>> {
  const text = await broker.tool('org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [
    '--describe',
    '--group',
    group,
  ])
  const rows = text.split('\n').map((line) => line.trim().split(/\s+/))
  const header = rows.find((row) => row.includes('LAG'))
  if (header === undefined) throw new Error(`no lag in: ${text}`)
  return new Map(
    rows
      .filter((row) => row[0] === group)
      .map((row) => [Number(row[header.indexOf('PARTITION')]), Number(row[header.indexOf('LAG')])]),
  )
}
