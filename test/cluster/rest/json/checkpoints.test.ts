import { describe, expect, it } from 'vitest'
import {
  checkpointConfigJson,
  checkpointDetailJson,
  checkpointsJson,
  checkpointVertexJson,
} from '../../../../src/cluster/rest/json/checkpoints.ts'
import { CHECKPOINT, COUNT, COUNT_ID, SOURCE_ID, snapshot } from '../snapshot.ts'

describe('the JSON of checkpoints', () => {
  it('separates checkpoints, savepoints and failures in "latest"', () => {
    const savepoint = { ...CHECKPOINT, id: 8, is_savepoint: true }
    const failed = {
      ...CHECKPOINT,
      id: 9,
      status: 'FAILED' as const,
      failure_message: 'declined: x',
    }
    const history = [failed, savepoint, CHECKPOINT]
    const { checkpoints } = snapshot()
    expect(checkpointsJson({ ...checkpoints!, history })).toMatchObject({
      latest: {
        completed: { id: 7, '@class': 'completed', external_path: 'file:///data/chk-7' },
        savepoint: { id: 8, savepointFormat: 'CANONICAL' },
        failed: { id: 9, '@class': 'failed', failure_message: 'declined: x' },
        restored: null,
      },
      summary: { state_size: { min: 900, max: 900, p50: 900 } },
    })
  })

  it('gives the part of each vertex', () => {
    const { tasks } = checkpointDetailJson(snapshot(), CHECKPOINT) as {
      readonly tasks: Record<string, object>
    }
    expect(tasks[COUNT_ID]).toMatchObject({ num_acknowledged_subtasks: 2, checkpointed_size: 300 })
    expect(tasks[SOURCE_ID]).toMatchObject({ num_acknowledged_subtasks: 0, num_subtasks: 2 })
  })

  it('gives the part of each subtask, and says which is missing', () => {
    const half = { ...CHECKPOINT, tasks: CHECKPOINT.tasks.slice(0, 1) }
    expect(checkpointVertexJson(half, COUNT)).toMatchObject({
      summary: { checkpoint_duration: { sync: { max: 1 } }, start_delay: { max: 3 } },
      subtasks: [
        { index: 0, status: 'completed', checkpoint: { sync: 1, async: 5 } },
        { index: 1, status: 'pending_or_failed' },
      ],
    })
  })

  it('shows the bytes of the records that barriers have overtaken', () => {
    const tasks = CHECKPOINT.tasks.map((ack, i) => ({
      ...ack,
      alignment: { duration: 2, persisted: 500 * i },
    }))
    const unaligned = { ...CHECKPOINT, tasks }
    expect(checkpointDetailJson(snapshot(), unaligned)).toMatchObject({
      persisted_data: 500,
      tasks: { [COUNT_ID]: { persisted_data: 500 }, [SOURCE_ID]: { persisted_data: 0 } },
    })
    expect(checkpointVertexJson(unaligned, COUNT)).toMatchObject({
      summary: { alignment: { persisted: { max: 500 } } },
      subtasks: [
        { unaligned_checkpoint: false },
        { unaligned_checkpoint: true, alignment: { persisted: 500 } },
      ],
    })
    const { settings } = snapshot().checkpoints!
    expect(
      checkpointConfigJson({ ...settings, unaligned: true, alignedTimeoutMs: 300 }),
    ).toMatchObject({ unaligned_checkpoints: true, aligned_checkpoint_timeout: 300 })
  })

  it('gives Flink’s number for a job without periodic checkpoints', () => {
    const { settings } = snapshot().checkpoints!
    expect(checkpointConfigJson({ ...settings, intervalMs: undefined })).toMatchObject({
      interval: Number.MAX_SAFE_INTEGER,
      mode: 'exactly_once',
    })
  })
})
