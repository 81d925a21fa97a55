import { systemClock } from '../../core/clock.ts'
import { type Command, Flags } from '../command/command.ts'
import { anyText } from '../flag-kinds/words.ts'
import { BROKER_OPTIONS, kafkaClusterOf } from '../flags/kafka-cluster.ts'

/** `weir kafka transactions list`: lists the transactions that have not ended. */
export const kafkaTransactionsListCommand: Command = {
  name: 'kafka transactions list',
  summary: 'List the transactions of Kafka that have not ended',
  options: {
    prefix: {
      type: 'string',
      value: anyText(),
      default: '',
      help: 'List only ids with this prefix; ids of Weir start with "weir/" by default',
    },
    all: { type: 'boolean', help: 'Also list ids whose last transaction has ended' },
    ...BROKER_OPTIONS,
  },
  details: `Readers with isolation level read_committed stop at the first transaction that has not ended. A job ends its
own transactions when it runs or is restored from its checkpoint. The brokers abort the others after a
timeout. You can end one with "weir kafka transactions commit" or "weir kafka transactions abort".

Example:
  weir kafka transactions list --brokers localhost:9092 --prefix weir/`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    const { describeKafkaTransaction, listKafkaTransactions } = await import(
      '../../connectors/kafka/client/transactions.ts'
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
      const description = {
        transactionalId,
        producerId,
        epoch,
        state,
        partitions,
        ageMs,
        timeoutMs,
      }
      io.out(flags.boolean('json') ? JSON.stringify(description) : lineOf(description))
    }
    if (shown.length === 0 && !flags.boolean('json')) io.err('no transaction is open')
    return 0
  },
}

/** Whether readers wait for the transaction: it is open, or some of its markers are not written. */
function hasNotEnded(state: string): boolean {
  return state === 'Ongoing' || state.startsWith('Prepare')
}

function lineOf(description: {
  readonly transactionalId: string
  readonly producerId: number
  readonly epoch: number
  readonly state: string
  readonly partitions: readonly string[]
  readonly ageMs: number | undefined
  readonly timeoutMs: number
}): string {
  const { transactionalId, producerId, epoch, state, partitions, ageMs, timeoutMs } = description
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(0)} s`
  const age = ageMs === undefined ? '' : `, open for ${seconds(ageMs)} of ${seconds(timeoutMs)}`
  const where = partitions.length === 0 ? '' : `, ${partitions.join(' ')}`
  return `${transactionalId}  producer ${producerId}, epoch ${epoch}, ${state}${age}${where}`
}
