import { describe, expect, it } from 'vitest'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import { AsyncWaitOperator } from '../../../src/operators/async/wait-operator.ts'
import { IntervalJoinFunction } from '../../../src/operators/joins/interval-join.ts'
import type { StreamOperator } from '../../../src/operators/port/operator.ts'
import type {
  FunctionInitializationContext,
  FunctionSnapshotContext,
} from '../../../src/operators/process/function-life.ts'
import { KeyedCoProcessOperator } from '../../../src/operators/process/keyed-co-process.ts'
import { AlignedWindowOperator } from '../../../src/operators/windows/aligned-operator.ts'
import { tumblingEventTimeWindows } from '../../../src/operators/windows/assigner.ts'
import { ListedContents } from '../../../src/operators/windows/contents.ts'
import { listState } from '../../../src/state/port/descriptors.ts'
import type { ListState } from '../../../src/state/port/handles.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'

/** The life of a function that keeps names in a list, and notes in which order it is called. */
class Names {
  readonly calls: string[] = []
  restored: readonly string[] = []
  private readonly kind: 'split' | 'union'
  private readonly added: readonly string[]
  private list!: ListState<string>

  constructor(kind: 'split' | 'union', added: readonly string[]) {
    this.kind = kind
    this.added = added
  }

  async initializeState(context: FunctionInitializationContext): Promise<void> {
    await Promise.resolve()
    const descriptor = listState<string>('names', { serializer: stringSerializer })
    this.list =
      this.kind === 'split'
        ? context.getListState(descriptor)
        : context.getUnionListState(descriptor)
    this.restored = this.list.get()
    this.calls.push(`initialize ${context.isRestored}`)
  }

  open(): void {
    this.calls.push('open')
  }

  async snapshotState({ checkpointId }: FunctionSnapshotContext): Promise<void> {
    await Promise.resolve()
    this.list.addAll(this.added)
    this.calls.push(`snapshot ${checkpointId}`)
  }

  close(): void {
    this.calls.push('close')
  }
}

const keySerializer = plainKeySerializer<string>()
const keys = { selectors: [(key: string) => key, (key: string) => key], serializer: keySerializer }

/** An asynchronous function that never answers. */
class AsyncNames extends Names {
  asyncInvoke(): Promise<readonly string[]> {
    return new Promise(() => undefined)
  }
}

class WindowNames extends Names {
  process(): void {}
}

class JoinNames extends Names {
  processElement(): void {}
}

/** How each kind of function is made, and the operator that runs it. */
const KINDS: Readonly<
  Record<
    string,
    (kind: 'split' | 'union', added: readonly string[]) => readonly [Names, StreamOperator]
  >
> = {
  'an asynchronous function': (kind, added) => {
    const userFunction = new AsyncNames(kind, added)
    const operator = new AsyncWaitOperator<string, string>({
      userFunction,
      mode: 'ordered',
      capacity: 10,
      timeoutMs: undefined,
      retryStrategy: undefined,
      serializer: stringSerializer as Serializer<unknown>,
    })
    return [userFunction, operator]
  },
  'a window function': (kind, added) => {
    const windowFunction = new WindowNames(kind, added)
    const operator = new AlignedWindowOperator<string, string>(tumblingEventTimeWindows(10), {
      keySerializer,
      contents: new ListedContents(stringSerializer),
      windowFunction,
      allowedLatenessMs: 0,
      lateDataTag: undefined,
    })
    return [windowFunction, operator]
  },
  'a function of an interval join': (kind, added) => {
    const join = new JoinNames(kind, added)
    const body = new IntervalJoinFunction<string, string, string, string>(
      { lowerMs: 0, upperMs: 10 },
      join,
    )
    return [join, new KeyedCoProcessOperator(body, keySerializer, true)]
  },
}

interface Run {
  readonly kind: 'split' | 'union'
  readonly added?: readonly string[]
  readonly restore?: readonly HarnessSnapshot[]
  readonly subtask?: number
  readonly parallelism?: number
}

async function open(what: string, { kind, added = [], ...place }: Run) {
  const [names, operator] = KINDS[what]!(kind, added)
  const harness = await OperatorHarness.open<string, string>({ operator, keys, ...place })
  return { names, harness }
}

/** Snapshots of as many subtasks as there are lists. */
async function snapshots(what: string, kind: Run['kind'], lists: readonly (readonly string[])[]) {
  const parallelism = lists.length
  return await Promise.all(
    lists.map(async (added, subtask) => {
      const { harness } = await open(what, { kind, added, subtask, parallelism })
      return await harness.snapshot()
    }),
  )
}

/** What each of so many subtasks restores. */
async function restored(what: string, run: Run, parallelism: number) {
  const subtasks = Array.from({ length: parallelism }, (_, subtask) =>
    open(what, { ...run, subtask, parallelism }),
  )
  return (await Promise.all(subtasks)).map(({ names }) => names.restored)
}

describe.each(Object.keys(KINDS))('state without keys of %s', (what) => {
  it('is restored before open, and stored after snapshotState', async () => {
    const { names, harness } = await open(what, { kind: 'split', added: ['a'] })
    const restore = [await harness.snapshot(7)]
    await harness.close()
    expect(names.calls).toEqual(['initialize false', 'open', 'snapshot 7', 'close'])
    const next = await open(what, { kind: 'split', restore })
    expect(next.names.calls).toEqual(['initialize true', 'open'])
    expect(next.names.restored).toEqual(['a'])
  })

  it('is divided when the parallelism grows', async () => {
    const restore = await snapshots(what, 'split', [['a', 'b', 'c', 'd']])
    const shares = await restored(what, { kind: 'split', restore }, 2)
    expect(shares.map(({ length }) => length)).toEqual([2, 2])
    expect(shares.flat().sort()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is joined when the parallelism shrinks', async () => {
    const restore = await snapshots(what, 'split', [['a'], ['b', 'c']])
    const shares = await restored(what, { kind: 'split', restore }, 1)
    expect(shares[0]!.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('goes to every subtask as a union', async () => {
    const restore = await snapshots(what, 'union', [['a'], ['b']])
    const shares = await restored(what, { kind: 'union', restore }, 3)
    expect(shares.map((names) => names.toSorted())).toEqual([
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ])
  })
})

describe('an asynchronous function with state', () => {
  it('is stored beside the records in flight, and called again for them', async () => {
    const { harness } = await open('an asynchronous function', { kind: 'split', added: ['a'] })
    harness.process('x')
    const restore = [await harness.snapshot()]
    const invoked: string[] = []
    const operator = new AsyncWaitOperator<string, string>({
      userFunction: {
        initializeState: (context) => {
          const kept = context.getListState(
            listState<string>('names', { serializer: stringSerializer }),
          )
          invoked.push(...kept.get())
        },
        asyncInvoke: async (value) => {
          invoked.push(value)
          return [value]
        },
      },
      mode: 'ordered',
      capacity: 10,
      timeoutMs: undefined,
      retryStrategy: undefined,
      serializer: stringSerializer as Serializer<unknown>,
    })
    await OperatorHarness.open<string, string>({ operator, keys, restore })
    expect(invoked).toEqual(['a', 'x'])
  })
})
