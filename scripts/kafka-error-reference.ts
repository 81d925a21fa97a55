import {
  KAFKA_ERROR_TABLE,
  type KafkaErrorClass,
  type KafkaErrorEntry,
} from '../src/connectors/kafka/client/error-table.ts'

const DOES: Readonly<Record<KafkaErrorClass, string>> = {
  none: 'Goes on.',
  retriable: 'Sends the request again, with new metadata, until `deliveryTimeoutMs` is over.',
  abortable:
    'A producer without transactions sends the batch again under another producer id. A job with a transaction restarts from its last checkpoint, with another transaction.',
  fatal: 'Ends the request.',
}

/** The text of docs/reference/kafka-errors.md. */
export function kafkaErrorReference(): string {
  const rows = KAFKA_ERROR_TABLE.map(
    (entry) =>
      `| ${entry.number} | \`${entry.name}\` | ${classOf(entry)} | ${entry.does ?? DOES[entry.kind]} | ${seenOf(entry)} |`,
  )
  return [
    '# Errors of Kafka',
    '',
    "Every error number that a broker can answer, in the classes of Kafka's clients. *Retriable*: the same request may",
    'succeed later. *Abortable*: no repetition of the request succeeds, but another transaction or producer id does, so the',
    'job goes on by itself. *Fatal*: nothing succeeds without a change by a person. A number that a later Kafka adds is',
    'fatal, and the message says the number. The codes are those of [Errors](errors.md).',
    '',
    '| number | name | class | what Weir does | what the user sees |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

function classOf({ kind }: KafkaErrorEntry): string {
  return kind === 'none' ? 'no error' : kind
}

function seenOf({ kind, code }: KafkaErrorEntry): string {
  switch (kind) {
    case 'none':
      return 'nothing'
    case 'retriable':
      return `nothing; \`${code}\` after the timeout, and a restart of the job`
    case 'abortable':
      return `nothing, or a restart of the job with \`${code}\``
    case 'fatal':
      return `\`${code}\` with the name of the error; the job ends`
  }
}
