import { describe, expect, it } from 'vitest'
import { encodeSeen } from '../../../../src/jobs/learning/als/deltas-operator.ts'
import type { SeenOffset } from '../../../../src/jobs/learning/delta-deduplicator.ts'
import { ResumeOffsets } from '../../../../src/jobs/learning/resume-offsets.ts'
import { ALS_LEARNED_MODEL } from '../../../../src/jobs/learning/write-back/als-model.ts'
import { learnedFacts } from '../../../../src/jobs/learning/write-back/checkpoint-facts.ts'
import type { SourceSplit } from '../../../../src/operators/port/source.ts'
import type { CheckpointManifest } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { encodeSplit } from '../../../../src/runtime/source/split-state.ts'

/** The gate's entries of one partition that learned on version 1 up to an offset, then on version 2. */
function places(partition: number, leftAt: number): Uint8Array[] {
  let position: SourceSplit = { partition, nextOffset: 0 }
  const source = {
    positions: () => [position],
    isRestored: () => false,
    appliesTo() {},
    seek(splits: readonly SourceSplit[]) {
      position = splits[0]!
    },
  }
  const offsets = new ResumeOffsets(source, [])
  offsets.switchTo(1, [])
  position = { partition, nextOffset: leftAt }
  offsets.switchTo(2, [])
  return offsets.snapshot()
}

/** A manifest with the states of operators, each subtask's entries in its own list. */
function manifest(
  states: readonly (readonly [uid: string, name: string, subtasks: readonly Uint8Array[][]])[],
): CheckpointManifest {
  return {
    ...{ jobId: 'job', jobName: 'learn', attempt: 1, generation: 1, checkpointId: 3 },
    ...{ kind: 'checkpoint', triggeredAtMs: 0, completedAtMs: 0 },
    operators: states.map(([uid, name, subtasks]) => ({
      ...{ uid, parallelism: subtasks.length, maxParallelism: 128, declarations: [], segments: [] },
      operatorState: subtasks.map((entries) => [{ name, redistribution: 'union', entries }]),
    })),
  }
}

const seen = (version: number, deltaPartition: number, offset: number): SeenOffset => ({
  ...{ version, deltaPartition, offset, partition: 1, sourceKeyGroup: 9 },
})

describe('what a checkpoint says of the versions that were learned on', () => {
  it('has the next offsets of the current version and of the one before, over all subtasks', () => {
    const splits = [
      [encodeSplit({ partition: 0, nextOffset: 70 })],
      [encodeSplit({ partition: 2, nextOffset: 90 })],
    ]
    const facts = learnedFacts(
      manifest([
        ['observations', 'splits', splits],
        ['ratings', 'learning-places', [places(0, 40), places(2, 50)]],
      ]),
      ALS_LEARNED_MODEL,
    )
    expect(facts.versions).toEqual([1, 2])
    expect(facts.next(1)).toEqual([40, -1, 50])
    expect(facts.next(2)).toEqual([70, -1, 90])
    expect(facts.next(3)).toEqual([])
  })

  it('has the next offset of each partition of the deltas', () => {
    const splits = [
      [encodeSplit({ partition: 2, nextOffset: 8 })],
      [encodeSplit({ partition: 0, nextOffset: 5 })],
    ]
    const facts = learnedFacts(manifest([['deltas-topic', 'splits', splits]]), ALS_LEARNED_MODEL)
    expect(facts.deltas).toEqual([5, -1, 8])
  })

  it('has the folded deltas of each version', () => {
    const [first, other, second] = [seen(1, 0, 4), seen(2, 0, 6), seen(1, 1, 5)]
    const facts = learnedFacts(
      manifest([['deltas', 'lanes', [encodeSeen([first, other]), encodeSeen([second])]]]),
      ALS_LEARNED_MODEL,
    )
    expect(facts.folded(1)).toEqual([first, second])
    expect(facts.folded(2)).toEqual([other])
    expect(facts.versions).toEqual([])
  })
})
