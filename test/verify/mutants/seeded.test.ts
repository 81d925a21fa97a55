import { describe, expect, it } from 'vitest'
import { FAULTS } from '../../../verify/faults.ts'
import { applyEdit, sourceOf } from '../../../verify/mutants/mutated-source.ts'
import { MUTANTS } from '../../../verify/mutants/seeded.ts'

describe('the mutants of Weir', () => {
  it('are at least twelve, each with its own name and faults of the default run', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
    expect(MUTANTS.length).toBeGreaterThanOrEqual(12)
    const known = FAULTS.map(({ name }) => name)
    for (const { faults } of MUTANTS) expect(known).toEqual(expect.arrayContaining([...faults]))
  })

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    '%s applies to the source as it is now',
    (_, { edits }) => {
      for (const edit of edits) {
        const before = sourceOf(edit.file)
        expect(applyEdit(before, edit)).not.toBe(before)
      }
    },
  )
})
