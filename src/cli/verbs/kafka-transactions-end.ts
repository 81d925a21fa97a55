import type { TransactionIdentity } from '../../connectors/kafka/client/identity.ts'
import type { KafkaTransactionDescription } from '../../connectors/kafka/client/transactions.ts'
import { WeirError } from '../../core/errors.ts'
import { type Command, type CommandInput, Flags, type OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { BROKER_OPTIONS, kafkaClusterOf } from '../flags/kafka-cluster.ts'

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'producer-id': {
    type: 'string',
    value: wholeNumber(),
    help: 'Fail unless the transaction has this producer id',
  },
  epoch: {
    type: 'string',
    value: wholeNumber(),
    help: 'Fail unless the transaction has this epoch',
  },
  ...BROKER_OPTIONS,
}

/** `weir kafka transactions commit ID`. */
export const kafkaTransactionsCommitCommand: Command = {
  name: 'kafka transactions commit',
  summary: 'Commit an open transaction, so that its records become visible',
  positions: [{ value: name('TRANSACTIONAL-ID') }],
  options: OPTIONS,
  details: `Use this for a transaction of a completed checkpoint whose job will not run again. Be careful: if the
transaction is in no completed checkpoint, its job writes the same records again when it continues.

Example:
  weir kafka transactions commit weir/counts/out/0/3/1 --epoch 4 --brokers localhost:9092`,
  run: (input) => end(input, true),
}

/** `weir kafka transactions abort ID`. */
export const kafkaTransactionsAbortCommand: Command = {
  name: 'kafka transactions abort',
  summary: 'Abort an open transaction, so that its records are dropped',
  positions: [{ value: name('TRANSACTIONAL-ID') }],
  options: OPTIONS,
  details: `Be careful: if a checkpoint holds the transaction, a job restored from that checkpoint fails, because its
records are lost.

Example:
  weir kafka transactions abort weir/counts/out/0/3/1 --epoch 4 --brokers localhost:9092`,
  run: (input) => end(input, false),
}

async function end(input: CommandInput, commit: boolean): Promise<number> {
  const { args, io } = input
  const flags = new Flags(input.flags)
  const id = args[0]!
  const [{ describeKafkaTransaction }, { endTransactionVisibly }] = await Promise.all([
    import('../../connectors/kafka/client/transactions.ts'),
    import('../../connectors/kafka/transaction-end.ts'),
  ])
  await using kafka = await kafkaClusterOf(flags)
  const open = requireOpen(id, await describeKafkaTransaction(kafka.cluster, id), flags)
  // Producer id and epoch are sent too, so that a newer producer's transaction is never ended.
  await endTransactionVisibly(kafka.cluster, open, commit)
  const { producerId, epoch } = open
  const state = commit ? 'committed' : 'aborted'
  io.out(
    flags.boolean('json')
      ? JSON.stringify({ transactionalId: id, producerId, epoch, state })
      : `${state} the transaction of ${id} (producer ${producerId}, epoch ${epoch})`,
  )
  return 0
}

/** The open transaction of `id`. Throws INVALID_TRANSACTION unless it is open and matches the flags. */
function requireOpen(
  id: string,
  found: KafkaTransactionDescription | undefined,
  flags: Flags,
): TransactionIdentity {
  const refuse = (problem: string): WeirError =>
    new WeirError(
      'INVALID_TRANSACTION',
      `${problem}; "weir kafka transactions list" shows the open ones`,
    )
  if (found === undefined) throw refuse(`unknown transactional id "${id}"`)
  if (found.state !== 'Ongoing') {
    throw refuse(`the transaction of "${id}" is not open; its state is ${found.state}`)
  }
  const producerId = flags.optionalNumber('producer-id')
  const epoch = flags.optionalNumber('epoch')
  const isMatch =
    (producerId ?? found.producerId) === found.producerId && (epoch ?? found.epoch) === found.epoch
  if (isMatch) return found
  throw refuse(
    `the open transaction of "${id}" has producer id ${found.producerId} and epoch ${found.epoch}, which differ from the flags`,
  )
}
