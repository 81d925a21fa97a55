import type { Edit } from './seeded.ts'

/** A Weir with one error that a test finds: no fault is needed to see it. */
export interface TestedMutant {
  readonly name: string
  readonly edits: readonly Edit[]
  /** Path of the test file. */
  readonly file: string
  /** Name of the test, or a part of it that no other test of the file has; one that no seed leaves out. */
  readonly test: string
}

/** Mutants that a test must find. Each error was once in Weir, and no test saw it. */
export const TESTED_MUTANTS: readonly TestedMutant[] = [
  {
    name: 'fold-what-is-not-declared',
    edits: [
      {
        file: 'operators/folds/fold.ts',
        text: "= { parts: 'never' },",
        replacement: "= { parts: 'any-order' },",
      },
    ],
    file: 'test/streams/campaign.test.ts',
    test: 'in windows',
  },
  {
    name: 'infer-a-timer-from-contents',
    edits: [
      {
        file: 'operators/windows/aligned-operator.ts',
        text: ' || this.mayLackTimers(end)',
        replacement: '',
      },
    ],
    file: 'test/streams/campaign.test.ts',
    test: 'in windows',
  },
  {
    name: 'forget-the-first-slice',
    edits: [
      {
        file: 'operators/windows/sliced-records.ts',
        text: 'record.start >= start && record.start < end',
        replacement: 'record.start > start && record.start < end',
      },
    ],
    file: 'test/streams/campaign.test.ts',
    test: 'in windows',
  },
  {
    name: 'forget-which-windows-had-slices',
    edits: [
      {
        file: 'operators/windows/sliced-records.ts',
        text: 'waits ||= fires || timers.hasEventTimeTimer(end - 1)',
        replacement: 'waits ||= fires',
      },
    ],
    file: 'test/streams/campaign.test.ts',
    test: 'in windows',
  },
  {
    name: 'forget-the-watermark',
    edits: [
      {
        file: 'operators/port/stored-watermark.ts',
        text: 'if (watermark === MIN_TIMESTAMP) return []',
        replacement: 'if (watermark >= MIN_TIMESTAMP) return []',
      },
    ],
    file: 'test/streams/campaign.test.ts',
    test: 'in windows',
  },
  {
    name: 'drop-unclaimed-state',
    edits: [
      {
        file: 'runtime/slot/restore.ts',
        text: '  if (unclaimed !== undefined) throw unclaimedState(restore.uid, unclaimed)\n',
        replacement: '',
      },
    ],
    file: 'test/runtime/job/renamed-state.test.ts',
    test: 'is refused with its name, and dropped where that is allowed',
  },
  {
    name: 'complete-over-aborted-transaction',
    edits: [
      {
        file: 'connectors/transactions/two-phase-sink-writer.ts',
        text: "  if (age > timeoutMs * EXPIRED_PART) return 'expired'\n",
        replacement: '',
      },
    ],
    file: 'test/connectors/transactions/two-phase-sink-writer.test.ts',
    test: 'refuses the checkpoint when the process was frozen for longer than the timeout',
  },
  {
    name: 'count-a-checkpoint-stored-too-late',
    edits: [
      {
        file: 'runtime/checkpoint/coordinator/repository.ts',
        text: '    confirm()\n',
        replacement: '',
      },
    ],
    file: 'test/runtime/checkpoint/coordinator/coordinator.test.ts',
    test: 'late while its manifest is written',
  },
  {
    name: 'ignore-a-truncation',
    edits: [
      {
        file: 'connectors/kafka/fetcher.ts',
        text: 'else if (fetched.diverging) await this.checkHistory(split)',
        replacement: 'else if (fetched.diverging) split.forgetEpoch()',
      },
    ],
    file: 'test/connectors/kafka/fetcher.test.ts',
    test: 'fails where the log that was read ends',
  },
  {
    name: 'zero-scale-of-published-weights',
    edits: [
      {
        file: 'models/linear/online-rule.ts',
        text: 'if (startsPublished(i, value, weights, memory)) continue',
        replacement: 'if (i < 0 && startsPublished(i, value, weights, memory)) continue',
      },
    ],
    file: 'test/models/linear/online-rule.test.ts',
    test: 'takes a weight without a memory for one of many examples',
  },
  {
    name: 'other-dimension-published',
    edits: [
      {
        file: 'models/publish/topic-dimension.ts',
        text: 'if (held === made) return',
        replacement: 'if (held > 0) return',
      },
    ],
    file: 'test/models/publish/topic-dimension.test.ts',
    test: 'a version with rows of another length than those of the topic is not published',
  },
  {
    name: 'highest-version-adopted',
    edits: [
      {
        file: 'models/registry/adopt.ts',
        text: '(marker) => !isCandidate(marker) && (marker.version === published || !needsRegistry(marker)),',
        replacement: '() => true,',
      },
    ],
    file: 'test/models/registry/adopt.test.ts',
    test: 'is a candidate after an import that no one promoted',
  },
  {
    name: 'old-slots-in-the-error',
    edits: [
      {
        file: 'jobs/learning/error/learning-error.ts',
        text: 'slot !== part.slot && parallelism === part.parallelism',
        replacement: 'slot !== part.slot || parallelism !== part.parallelism',
      },
    ],
    file: 'test/jobs/learning/error/learning-error.test.ts',
    test: 'the parts of slots from before a start with fewer slots no longer count',
  },
  {
    name: 'promotion-without-the-learner',
    edits: [
      {
        file: 'models/registry/commands.ts',
        text: 'const unlearned = notLearnable(model, version)',
        replacement: 'const unlearned = notLearnable({}, version)',
      },
    ],
    file: 'test/models/registry/commands.test.ts',
    test: 'could not learn is refused, also after its checks',
  },
  {
    name: 'step-counted-until-it-is-read',
    edits: [
      {
        file: 'jobs/learning/linear/step-folds.ts',
        text: 'for (let tries = blocks === 0 ? TRIES : 0; tries < TRIES; tries++) {',
        replacement: 'for (let tries = TRIES; tries < TRIES; tries++) {',
      },
    ],
    file: 'test/jobs/learning/linear/step-folds.test.ts',
    test: 'end an example with the last of its blocks, whichever slot folds it',
  },
  {
    name: 'old-deltas-make-room',
    edits: [
      {
        file: 'jobs/learning/als/deltas-operator.ts',
        text: 'const isCounted = buffer.attemptTag === inFlight?.attemptTag',
        replacement: 'const isCounted = buffer.attemptTag !== undefined',
      },
    ],
    file: 'test/jobs/learning/als/restarted-flight.test.ts',
    test: 'no more ratings than the limit are in flight after an attempt whose checkpoint was at its end',
  },
  {
    name: 'source-past-the-limit',
    edits: [
      {
        file: 'jobs/learning/linear/observations-operator.ts',
        text: 'if (this.held.length === 0 && this.inFlight?.tryEnter() !== false) {',
        replacement: 'if (this.inFlight?.tryEnter() !== false || this.held.length === 0) {',
      },
    ],
    file: 'test/jobs/learning/linear/observations-operator.test.ts',
    test: 'predicts no more examples than may be in flight, and the others in their order when some have left',
  },
  {
    name: 'position-without-its-topic',
    edits: [
      {
        file: 'connectors/records/topic-origin.ts',
        text: "if (match === 'same' || match === 'taken-for-same') return",
        replacement: "if (match !== 'created-again') return",
      },
    ],
    file: 'test/connectors/log/connectors.test.ts',
    test: 'refuses the positions of another topic, and of one that was created again',
  },
  {
    name: 'segments-of-any-partition',
    edits: [
      {
        file: 'wire/batch/position-checksum.ts',
        text: 'if (found === NO_MARK || found === mark) return',
        replacement: 'if (found === NO_MARK || found === mark || mark !== NO_MARK) return',
      },
    ],
    file: 'test/connectors/log/storage/swapped-segments.test.ts',
    test: 'are named by `log check` and refused by readers: closed, of two topics',
  },
  {
    name: 'unknown-guarantee-means-none',
    edits: [
      {
        file: 'operators/port/sink.ts',
        text: `oneOf(
  'none',
  'at-least-once',
  'exactly-once',
)`,
        replacement: "{ takes: 'a guarantee', problem: () => undefined }",
      },
    ],
    file: 'test/connectors/log/connectors.test.ts',
    test: 'a sink refuses a guarantee that it does not know: it would be none',
  },
  {
    name: 'arguments-unchecked',
    edits: [
      {
        file: 'cli/run-command-line.ts',
        text: '  checkPositions(command, parsed)\n',
        replacement: '',
      },
    ],
    file: 'test/cli/flag-walk.test.ts',
    test: 'is refused with a text that its kind does not take, the empty one too',
  },
  {
    name: 'topics-created-by-a-refused-start',
    edits: [
      {
        file: 'jobs/serve/learning.ts',
        text: '  await requireStartable(job.model, options)\n',
        replacement: '',
      },
    ],
    file: 'test/jobs/serve/model.test.ts',
    test: 'a job without its model topic is refused, and creates no other topic',
  },
  {
    name: 'range-without-the-id-of-its-topic',
    edits: [
      {
        file: 'models/registry/ranges/range-place.ts',
        text: "return topicId === present.id ? 'here' : 'elsewhere'",
        replacement: "return topic === present.topic ? 'here' : 'elsewhere'",
      },
    ],
    file: 'test/models/registry/ranges/range-place.test.ts',
    test: 'rangesHere keeps the ranges of the topic and those that are taken for it',
  },
  {
    name: 'records-not-compared',
    edits: [
      {
        file: 'models/registry/ranges/observations-digest.ts',
        text: 'return left.count === right.count && left.sum === right.sum',
        replacement: 'return true',
      },
    ],
    file: 'test/jobs/retrain/moved-version.test.ts',
    test: 'has the same topic and offsets, and yet a retraining trains, and says what differs',
  },
  {
    name: 'training-file-learned-again',
    edits: [
      {
        file: 'jobs/serve/first-observations.ts',
        text: "if (inTopic?.kind === 'first') return after(inTopic, facts)\n  const choice",
        replacement: 'const choice',
      },
    ],
    file: 'test/jobs/serve/first-observations.test.ts',
    test: 'is learned from after its observations where they are the first ones of the topic',
  },
  {
    name: 'axis-guessed',
    edits: [
      {
        file: 'inference/runners/onnx-signature.ts',
        text: 'return { ...given, alone: found.why }',
        replacement: 'return given',
      },
    ],
    file: 'test/inference/runners/onnx-signature.test.ts',
    test: 'run alone where it does not, and the signature says why',
  },
  {
    name: 'analysis-skipped',
    edits: [
      {
        file: 'inference/onnx/independence.ts',
        text: 'return rule(operation)',
        replacement: 'return outputs.map(() => inputs[0] ?? fixedTensor())',
      },
    ],
    file: 'test/inference/onnx/independence.test.ts',
    test: 'in a graph of the kind "Softmax over the rows"',
  },
  {
    name: 'probe-skipped',
    edits: [
      {
        file: 'inference/workers/run-worker.ts',
        text: 'return alone === undefined ? signature : { ...signature, alone }',
        replacement: 'return alone === undefined ? signature : { ...signature }',
      },
    ],
    file: 'test/system/inference/rows/row-independence.test.ts',
    test: 'get their own rows from a module that says the wrong thing of its rows',
  },
  {
    name: 'outputs-split-by-count',
    edits: [
      {
        file: 'inference/workers/batch-run.ts',
        text: 'if (this.signature.alone !== undefined) return outputs',
        replacement: '',
      },
    ],
    file: 'test/system/inference/rows/row-independence.test.ts',
    test: 'get as many boxes as there are in their own pictures',
  },
  {
    name: 'elements-unchecked',
    edits: [
      {
        file: 'http/json-body.ts',
        text: "if (++containers > limits.containers) throw tooMany('lists and objects', limits.containers)",
        replacement: '++containers',
      },
    ],
    file: 'test/gateway/http/hostile-bodies.test.ts',
    test: 'says what is too much',
  },
  {
    name: 'share-unchecked',
    edits: [
      {
        file: 'http/access/byte-budget.ts',
        text: 'if (own + bytes > mostPerClient || this.total + bytes > most) return false',
        replacement: 'if (this.total + bytes > most + mostPerClient) return false',
      },
    ],
    file: 'test/gateway/http/body-budget.test.ts',
    test: 'bodies that are never whole take no more than the share of their client',
  },
  {
    name: 'deadline-not-kept',
    edits: [
      {
        file: 'serving/server/held-frame.ts',
        text: 'else if (nowMs - this.partSinceMs > WHOLE_MS) {',
        replacement: 'else if (nowMs < 0) {',
      },
    ],
    file: 'test/serving/server/held-frame.test.ts',
    test: 'must be whole in 10 s, however its bytes come',
  },
]
