import { systemClock } from '../core/clock.ts'
import { type Command, Flags } from './command.ts'
import { BROKER_OPTIONS, kafkaClusterOf } from './kafka-cluster-of.ts'

/** `weir kafka transactions list`: transactions that have not ended. */
export const kafkaTransactionsListCommand: Command = {
  name: 'kafka transactions list',
  summary: 'List the transactions of Kafka that have not ended',
  options: {
    prefix: {
      type: 'string',
      value: 'TEXT',
      default: '',
      help: 'Only ids that begin so; those of Weir begin with "weir/" unless the job says otherwise',
    },
    all: { type: 'boolean', help: 'Also ids whose last transaction has ended' },
    ...BROKER_OPTIONS,
  },
  details: `Read_committed readers stop at the first transaction that has not ended. A job that runs, or will be
started again from its checkpoint, ends its own; the others are aborted by the brokers after their
timeout, or by hand with "weir kafka transactions commit" or "abort".`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { describeKafkaTransaction, listKafkaTransactions } = await import(
      '../connectors/kafka/kafka-transactions.ts'
    )
    await using kafka = await kafkaClusterOf(flags)
    const known = await listKafkaTransactions(kafka.cluster, flags.string('prefix'))
    const shown = known.filter(({ state }) => flags.boolean('all') || hasNotEnded(state))
    const nowMs = systemClock.nowMs()
    for (const { transactionalId } of shown) {
      const found = await describeKafkaTransaction(kafka.cluster, transactionalId)
      if (found === undefined) continue
      const { producerId, epoch, state, timeoutMs, startedMs } = found
      const partitions = found.topics.flatMap(({ topic, partitions: numbers }) =>
        numbers.map((partition) => `${topic}/${partition}`),
      )
      const isOpen = startedMs >= 0 && hasNotEnded(state)
      const ageMs = isOpen ? Math.max(0, nowMs - startedMs) : undefined
      const fact = { transactionalId, producerId, epoch, state, partitions, ageMs, timeoutMs }
      io.out(flags.boolean('json') ? JSON.stringify(fact) : lineOf(fact))
    }
    if (shown.length === 0 && !flags.boolean('json')) io.err('no transaction is open')
    return 0
  },
}

/** Whether readers wait for it: it is open, or its markers are not all written. */
function hasNotEnded(state: string): boolean {
  return state === 'Ongoing' || state.startsWith('Prepare')
}

function lineOf(fact: {
  readonly transactionalId: string
  readonly producerId: number
  readonly epoch: number
  readonly state: string
  readonly partitions: readonly string[]
  readonly ageMs: number | undefined
  readonly timeoutMs: number
}): string {
  const { transactionalId, producerId, epoch, state, partitions, ageMs, timeoutMs } = fact
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(0)} s`
  const age = ageMs === undefined ? '' : `, open for ${seconds(ageMs)} of ${seconds(timeoutMs)}`
  const where = partitions.length === 0 ? '' : `, ${partitions.join(' ')}`
  return `${transactionalId}  producer ${producerId} epoch ${epoch}, ${state}${age}${where}`
}
