import type { JobDetail, JobLive } from './answers.ts'

/** Bounds of the parallelism of a vertex, in Flink's form. */
export interface Requirement {
  readonly parallelism: { readonly lowerBound: number; readonly upperBound: number }
}

/**
 * What `PUT /jobs/:id/resource-requirements` takes to give a job a parallelism, by the id of the vertex: operators
 * whose code fixes their parallelism keep it.
 */
export function requirementsOf(
  job: Pick<JobDetail, 'vertices'>,
  live: Pick<JobLive, 'vertices'>,
  parallelism: number,
): Readonly<Record<string, Requirement>> {
  const fixed = new Set(
    live.vertices.filter(({ hasOwnParallelism }) => hasOwnParallelism).map(({ id }) => id),
  )
  return Object.fromEntries(
    job.vertices.map((vertex) => {
      const bounds = fixed.has(vertex.id)
        ? { lowerBound: vertex.parallelism, upperBound: vertex.parallelism }
        : { lowerBound: 1, upperBound: parallelism }
      return [vertex.id, { parallelism: bounds }]
    }),
  )
}
