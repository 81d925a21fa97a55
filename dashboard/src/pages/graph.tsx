import { useEffect, useState } from 'preact/hooks'
import type { JobDetail, JobLive } from '../data/answers.ts'
import { GraphDrawing } from '../graph/drawing.tsx'
import { VertexDrawer } from '../graph/vertex-drawer.tsx'

/** Parts of the page of the job graph. */
export interface GraphPageProps {
  readonly job: JobDetail
  readonly live: JobLive
  /** Id of the vertex whose drawer is open. */
  readonly chosen: string | undefined
}

/** The job graph with the load of each vertex, and the drawer of the chosen one. */
export function GraphPage({ job, live, chosen }: GraphPageProps) {
  const vertex = job.vertices.find(({ id }) => id === chosen)
  return (
    <div class={vertex === undefined ? 'graph-page' : 'graph-page open'}>
      <section class="card" aria-label="Job graph">
        <GraphDrawing job={job} live={live} chosen={chosen} isNarrow={useIsNarrow()} />
        <p class="quiet">
          Busy and back-pressured are shares of the last second, of the subtask with the largest
          share. Back-pressured: it waits for an operator after it. Choose an operator for its
          subtasks and metrics.
        </p>
      </section>
      {vertex === undefined ? null : (
        <VertexDrawer
          key={vertex.id}
          job={job}
          vertex={vertex}
          load={live.vertices.find(({ id }) => id === vertex.id)}
        />
      )}
    </div>
  )
}

const NARROW = '(max-width: 760px)'

function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches)
  useEffect(() => {
    const query = matchMedia(NARROW)
    const follow = (): void => setNarrow(query.matches)
    query.addEventListener('change', follow)
    return () => query.removeEventListener('change', follow)
  }, [])
  return isNarrow
}
