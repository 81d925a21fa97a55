import type { TransactionIdentity } from '../connectors/kafka/kafka-identity.ts'
import type { KafkaTransactionDescription } from '../connectors/kafka/kafka-transactions.ts'
import { WeirError } from '../core/errors.ts'
import { type Command, Flags, type OptionSpec, UsageError } from './command.ts'
import { BROKER_OPTIONS, kafkaClusterOf } from './kafka-cluster-of.ts'

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'producer-id': { type: 'string', value: 'N', help: 'Only if it is that of this producer id' },
  epoch: { type: 'string', value: 'N', help: 'Only if it is that of this epoch' },
  ...BROKER_OPTIONS,
}

/** `weir kafka transactions commit ID`. */
export const kafkaTransactionsCommitCommand: Command = {
  name: 'kafka transactions commit',
  summary: 'Commit one open transaction: its records become visible',
  usage: 'TRANSACTIONAL-ID',
  options: OPTIONS,
  details: `Commit what a checkpoint holds and its job will not come back for. Before you do: a transaction that is
in no completed checkpoint holds records that the job writes again when it goes on.

Example:
  weir kafka transactions commit weir/counts/out/0/3/1 --epoch 4 --brokers localhost:9092`,
  run: (input) => end(new Flags(input.flags), input.args, input.io.out, true),
}

/** `weir kafka transactions abort ID`. */
export const kafkaTransactionsAbortCommand: Command = {
  name: 'kafka transactions abort',
  summary: 'Abort one open transaction: its records are dropped',
  usage: 'TRANSACTIONAL-ID',
  options: OPTIONS,
  details: `Before you do: a job that holds it in a checkpoint fails when it is restored from there, because the
records are lost.

Example:
  weir kafka transactions abort weir/counts/out/0/3/1 --epoch 4 --brokers localhost:9092`,
  run: (input) => end(new Flags(input.flags), input.args, input.io.out, false),
}

async function end(
  flags: Flags,
  args: readonly string[],
  out: (line: string) => void,
  commit: boolean,
): Promise<number> {
  const [id] = args
  if (id === undefined) throw new UsageError('give the transactional id')
  if (args.length > 1) throw new UsageError('give one transactional id')
  const [{ describeKafkaTransaction }, { endTransactionVisibly }] = await Promise.all([
    import('../connectors/kafka/kafka-transactions.ts'),
    import('../connectors/topics/transaction-end.ts'),
  ])
  await using kafka = await kafkaClusterOf(flags)
  const open = requireOpen(id, await describeKafkaTransaction(kafka.cluster, id), flags)
  // Producer id and epoch go with it: a transaction that a newer producer began is never meant.
  await endTransactionVisibly(kafka.cluster, open, commit)
  const { producerId, epoch } = open
  const state = commit ? 'committed' : 'aborted'
  out(
    flags.boolean('json')
      ? JSON.stringify({ transactionalId: id, producerId, epoch, state })
      : `${state} the transaction of ${id} (producer ${producerId} epoch ${epoch})`,
  )
  return 0
}

/** Throws INVALID_TRANSACTION unless it is open and the one that the flags mean. */
function requireOpen(
  id: string,
  found: KafkaTransactionDescription | undefined,
  flags: Flags,
): TransactionIdentity {
  const refuse = (problem: string): WeirError =>
    new WeirError('INVALID_TRANSACTION', `${problem}; "weir kafka transactions list" shows those`)
  if (found === undefined) throw refuse(`the brokers know no transactional id "${id}"`)
  if (found.state !== 'Ongoing') {
    throw refuse(`the transaction of "${id}" is not open but ${found.state}`)
  }
  const producerId = flags.optionalInteger('producer-id')
  const epoch = flags.optionalInteger('epoch')
  const isMeant =
    (producerId ?? found.producerId) === found.producerId && (epoch ?? found.epoch) === found.epoch
  if (isMeant) return found
  throw refuse(
    `the open transaction of "${id}" is of producer ${found.producerId} epoch ${found.epoch}, not of the one given`,
  )
}
