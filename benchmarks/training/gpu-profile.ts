import type { GpuRuntime } from '../../src/training/gpu/runtime.ts'

/** Runs of the graphs of one kind, and the time inside them, ms. */
export interface GraphTime {
  readonly runs: number
  readonly ms: number
}

/** A runtime whose graphs are timed. */
export interface TimedRuntime {
  readonly runtime: GpuRuntime
  /** Times since the last call, by the first output of a graph. */
  take(): ReadonlyMap<string, GraphTime>
}

/**
 * Times the runs of graphs. A run whose outputs stay on the device only submits; one that has an output here waits
 * until the device has done all that was submitted. What is left of a phase is the host's own work.
 */
export function timedRuntime(runtime: GpuRuntime): TimedRuntime {
  let times = new Map<string, GraphTime>()
  return {
    runtime: {
      ...runtime,
      async open(model, places) {
        const graph = await runtime.open(model, places)
        const name = Object.keys(places)[0] ?? ''
        return {
          async run(inputs, outputs) {
            const startMs = performance.now()
            const result = await graph.run(inputs, outputs)
            const { runs, ms } = times.get(name) ?? { runs: 0, ms: 0 }
            times.set(name, { runs: runs + 1, ms: ms + performance.now() - startMs })
            return result
          },
          [Symbol.asyncDispose]: () => graph[Symbol.asyncDispose](),
        }
      },
    },
    take() {
      const taken = times
      times = new Map()
      return taken
    },
  }
}

/** One phase as a text: its time, that of each kind of graph with the number of runs, and the host's own. */
export function phaseText(totalMs: number, times: ReadonlyMap<string, GraphTime>): string {
  let hostMs = totalMs
  const parts: string[] = []
  for (const [name, { runs, ms }] of times) {
    parts.push(`${name} ${ms.toFixed(1)} (${runs} runs)`)
    hostMs -= ms
  }
  return `${totalMs.toFixed(1)} ms: ${parts.join(', ')}, host ${hostMs.toFixed(1)}`
}
