import { ClassArchive } from '../java/class-archive.ts'
import { runJavaTool } from '../java/process.ts'
import type { KafkaAccess } from './access.ts'
import { KAFKA_TOOL_FLAGS } from './flags.ts'

/**
 * Runs one of Kafka's tools with `--bootstrap-server` and returns its output; `input` is its standard
 * input.
 */
export function runKafkaTool(
  { classPath, bootstrap }: { readonly classPath: string; readonly bootstrap: string },
  mainClass: string,
  args: readonly string[],
  input = '',
): Promise<string> {
  const { readFlags } = new ClassArchive(classPath)
  const flags = [...KAFKA_TOOL_FLAGS, ...readFlags, '-Dkafka.log.level=ERROR']
  const command = [...flags, '-cp', classPath, mainClass]
  return runJavaTool([...command, '--bootstrap-server', bootstrap, ...args], input)
}

/** Writes lines `key<TAB>value` into a topic with Java's console producer and a compression. */
export async function produceWithJava(
  broker: KafkaAccess,
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

/** Reads a topic from the beginning with Java's console consumer, read_committed: lines `key<TAB>value`. */
export async function consumeWithJava(
  broker: KafkaAccess,
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

/** Lag by partition, from `kafka-consumer-groups --describe`. */
export async function groupLag(broker: KafkaAccess, group: string): Promise<Map<number, number>> {
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
