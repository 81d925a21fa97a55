/** One change of a source file: `text` occurs in it exactly once and is replaced. */
export interface Edit {
  /** Path below `src`. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

/** A Weir with one error. A verifier that does not find it is blind to this kind of error. */
export interface Mutant {
  readonly name: string
  readonly edits: readonly Edit[]
  /** Faults of the default run that show the error; each comes `rounds` times. */
  readonly faults: readonly string[]
  /** @default 1 */
  readonly rounds?: number
}

const SINK = 'connectors/transactions/two-phase-sink-writer.ts'
const VECTORS = 'state/vector/versioned-rows.ts'
const KAFKA_READER = 'connectors/kafka/source-reader.ts'
const ADD = 'this.opened.open(version, delta.length).add(key, hash, delta, origin)'
const POSITION = `      partition,
      nextOffset,
      origin,`
/** Every 200th call of the line. */
const RARELY = '(globalThis.mutant = (globalThis.mutant ?? 0) + 1) % 200 === 0'

/** The mutants that the verifier must find. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'forget-prepared-transactions',
    edits: [
      {
        file: SINK,
        text: 'await Promise.all(restored.map((bytes) => commitRestored(transactions, context, bytes)))',
        replacement: '',
      },
    ],
    faults: ['killed-before-commit'],
  },
  {
    name: 'commit-before-manifest',
    edits: [
      {
        file: SINK,
        text: 'return [encodeCommittable({ identity: ended, witness: sent.witness })]',
        replacement: `const early = [encodeCommittable({ identity: ended, witness: sent.witness })]
    await this.commit(early)
    return early`,
      },
    ],
    faults: ['killed-before-manifest'],
  },
  {
    name: 'skip-delta',
    edits: [{ file: VECTORS, text: ADD, replacement: `if (${RARELY}) return\n    ${ADD}` }],
    faults: ['slot-killed'],
  },
  {
    name: 'count-delta-twice',
    edits: [{ file: VECTORS, text: ADD, replacement: `if (${RARELY}) ${ADD}\n    ${ADD}` }],
    faults: ['slot-killed'],
  },
  {
    name: 'drop-late-batch',
    edits: [
      {
        file: 'runtime/subtask/input-processor.ts',
        text: `      if (message.kind === 'batch') this.openBatch(role, message)
      else if (message.kind === 'own') this.openOwn(role, message)
      else this.processControl(role, message)`,
        replacement: `      if (message.kind === 'batch' || message.kind === 'own') {
        if (this.late === true) {
          this.late = false
          this.returnCredit(message.channel, message.kind === 'own' ? message : message.buffer)
          return true
        }
        if (message.kind === 'own') this.openOwn(role, message)
        else this.openBatch(role, message)
      } else {
        if (message.kind === 'barrier') this.late = true
        this.processControl(role, message)
      }`,
      },
    ],
    faults: ['slot-killed'],
  },
  {
    name: 'restore-older-segment',
    edits: [
      {
        file: 'runtime/checkpoint/segment/restore-chain.ts',
        text: 'segments.map((segment) => openSegment(storage, segment))',
        replacement:
          'segments.slice(segments.length > 1 ? 1 : 0).map((segment) => openSegment(storage, segment))',
      },
    ],
    faults: ['process-killed'],
    rounds: 2,
  },
  {
    name: 'answer-from-wrong-version',
    edits: [
      {
        file: 'serving/reader/row-reads.ts',
        text: 'keyClass.versions.get(this.modelVersion)',
        replacement: '(keyClass.versions.get(1) ?? keyClass.versions.get(this.modelVersion))',
      },
      {
        file: 'serving/reader/read-group.ts',
        text: 'state.keyClasses[i]!.versions.get(version)',
        replacement:
          '(state.keyClasses[i]!.versions.get(1) ?? state.keyClasses[i]!.versions.get(version))',
      },
    ],
    faults: ['slot-killed'],
  },
  {
    name: 'ignore-aborted-list',
    edits: [
      {
        file: 'connectors/kafka/client/answers/aborted-transactions.ts',
        text: 'if (this.aborted.size === 0 ||',
        replacement: 'if (this.aborted.size >= 0 ||',
      },
    ],
    faults: ['slot-killed'],
  },
  {
    // What a sink made of a guarantee in the spelling of another system, before options were checked.
    name: 'take-guarantee-for-none',
    edits: [
      {
        file: SINK,
        text: "this.guarantee = options.guarantee ?? 'at-least-once'",
        replacement: "this.guarantee = 'none'",
      },
    ],
    faults: ['slot-killed'],
  },
  {
    // The same of the isolation of a source.
    name: 'take-isolation-for-none',
    edits: [
      {
        file: 'connectors/kafka/fetcher.ts',
        text: "readCommitted: isolation === 'read_committed',",
        replacement: "readCommitted: (isolation as string) === 'READ_COMMITTED',",
      },
    ],
    faults: ['slot-killed'],
  },
  {
    name: 'lose-timer',
    edits: [
      {
        file: 'state/timers/queue.ts',
        text: `      entry.time = readTimestamp(entry.key)
      this.add(entry)`,
        replacement: `      entry.time = readTimestamp(entry.key)
      if (this.heap.first === undefined) this.add(entry)`,
      },
    ],
    faults: ['process-killed'],
    // A kill shows it only if the checkpoint before has two timers of one subtask.
    rounds: 3,
  },
  {
    name: 'forget-operator-state',
    edits: [
      {
        file: 'runtime/subtask/operator-state-memory.ts',
        text: 'return this.before.get(name) ?? []',
        replacement: 'return name === undefined ? (this.before.get(name) ?? []) : []',
      },
    ],
    faults: ['killed-before-commit'],
  },
  {
    name: 'apply-out-of-order',
    edits: [
      {
        file: 'runtime/subtask/input-processor.ts',
        text: 'this.processRecord(this.groupAt++)',
        replacement: 'this.processRecord(this.group.count - 1 - this.groupAt++)',
      },
    ],
    faults: ['slot-killed'],
  },
  {
    name: 'answer-bounded-too-old',
    edits: [
      {
        file: 'serving/reader/bounds.ts',
        text: 'if (asOf === 0 || this.clock.monotonicMs() - asOf > consistency.maxAgeMs) return false',
        replacement: 'if (asOf === 0) return false',
      },
    ],
    faults: ['kafka-half-open', 'kafka-delayed'],
  },
  {
    name: 'resume-one-record-too-late',
    edits: [
      {
        file: KAFKA_READER,
        text: POSITION,
        replacement: POSITION.replace('nextOffset,', 'nextOffset: nextOffset + 1,'),
      },
    ],
    // A job that resumes behind the end of its topic restarts forever, which is no wrong row.
    // Each restart loses another record, and one restart may come before any later record.
    faults: ['slot-killed', 'process-killed'],
    rounds: 2,
  },
  {
    name: 'resume-one-record-too-early',
    edits: [
      {
        file: KAFKA_READER,
        text: POSITION,
        replacement: POSITION.replace('nextOffset,', 'nextOffset: Math.max(0, nextOffset - 1),'),
      },
    ],
    faults: ['process-killed'],
  },
  {
    name: 'ignores-a-truncation',
    edits: [
      {
        file: 'connectors/kafka/fetcher.ts',
        text: 'else if (fetched.diverging) await this.checkHistory(split)',
        replacement: 'else if (fetched.diverging) split.forgetEpoch()',
      },
    ],
    faults: ['source-truncated'],
  },
  {
    name: 'completes-over-an-aborted-transaction',
    edits: [
      {
        file: SINK,
        text: '    await this.prepared!.requireAlive()\n',
        replacement: '',
      },
      {
        file: SINK,
        text: 'return this.prepared?.commitBy',
        replacement: 'return undefined',
      },
    ],
    faults: ['frozen-between-records'],
  },
  {
    name: 'counts-a-checkpoint-stored-too-late',
    edits: [
      {
        file: 'runtime/checkpoint/coordinator/repository.ts',
        text: '    confirm()\n',
        replacement: '',
      },
    ],
    faults: ['frozen-before-commit'],
  },
]
