import { expect, it } from 'vitest'
import { queryCommand } from '../../../src/cli/verbs/query.ts'
import { ITEM_COUNTS, KNOWN_ITEMS, USER_COUNTS } from '../../../src/jobs/histories/states.ts'
import { LEARNING_ERROR_STATE } from '../../../src/jobs/learning/error/learning-error.ts'
import { ITEM_TAGS } from '../../../src/models/item-tags.ts'
import { ALS_MODEL } from '../../../src/models/topic/als-serving-function.ts'
import { SVM_MODEL } from '../../../src/models/topic/linear-serving-function.ts'
import { ALS_VARIANCE } from '../../../src/wire/rating-interval.ts'

const STATES = [
  ...[ALS_MODEL, SVM_MODEL, LEARNING_ERROR_STATE, KNOWN_ITEMS],
  ...[USER_COUNTS, ITEM_COUNTS, ITEM_TAGS, ALS_VARIANCE],
]

it.each(STATES)('the help of weir query shows a key of %s', (state) => {
  expect(queryCommand.details).toMatch(new RegExp(`^  ${state} +[\\w-]+(, [\\w-]+)*[:;] `, 'm'))
})
