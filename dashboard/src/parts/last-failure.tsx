import type { LastFailure } from '../data/answers.ts'
import { jobHref } from '../data/route.ts'
import { timeText } from '../format.ts'

/** Characters of a message that are shown; the page of the exceptions has all of it. */
const MOST = 300

/** Parts of the newest failure of a job. */
export interface FailureLineProps {
  readonly job: string
  readonly failure: LastFailure
}

/** The newest failure of a job in a line: when and what, with the way to its stack. */
export function FailureLine({ job, failure: { timestamp, code, message } }: FailureLineProps) {
  const [first = ''] = message.split('\n')
  const isLong = first.length > MOST
  return (
    <span class="wraps failure">
      <a href={jobHref(job, 'exceptions')}>{timeText(timestamp)}</a> <code>{code}</code>{' '}
      {isLong ? `${first.slice(0, MOST)} …` : first}
    </span>
  )
}
