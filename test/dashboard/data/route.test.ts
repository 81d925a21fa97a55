import { expect, it } from 'vitest'
import { jobHref, routeOf } from '../../../dashboard/src/data/route.ts'

const JOB = 'a'.repeat(32)

it.each(['1-U', 'a/b', 'ä %', '..', '#?'])('an address keeps the key "%s"', (key) => {
  const route = routeOf(jobHref(JOB, 'state', key))
  expect(route).toEqual({ page: 'job', job: JOB, tab: 'state', chosen: key })
})

it('an address that no page wrote shows the overview, or nothing chosen', () => {
  expect(routeOf('#/jobs/x/state')).toEqual({ page: 'overview' })
  expect(routeOf(`#/jobs/${JOB}/state/%`)).toMatchObject({ tab: 'state', chosen: undefined })
  expect(routeOf(`#/jobs/${JOB}/elsewhere`)).toMatchObject({ tab: 'graph' })
})
