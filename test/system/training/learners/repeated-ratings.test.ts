import { it } from 'vitest'
import { trainAls } from '../../../../src/training/als/train.ts'
import { ratingsTable } from '../../../../src/training/data/ratings-table.ts'
import { until } from '../../../run/until.ts'
import { LearningService, TRAINED_RATINGS } from './learning-service.ts'

it('ratings that a producer sends again are learned and measured once, also after a restart and on another version', async () => {
  const model = await trainAls(ratingsTable(TRAINED_RATINGS), {
    ...{ factors: 4, biases: true, threads: 0 },
  })
  const service = new LearningService()
  await service.publish(model)
  await service.start({ rule: 'gram' }, { eventId: 'header:id' })
  await service.produce(300)
  await service.again(300)
  await service.produce(100)
  await service.untilLearned(400)
  await until('the repeated ones are counted', async () => (await service.repeated()) === 300)
  await until('the error is of 400', async () => (await service.error())?.ratings === 400)
  await service.stop()
  await service.start({ rule: 'gram' }, { eventId: 'header:id', slots: 3 })
  await service.again(400)
  await until('the repeated ones are counted', async () => (await service.repeated()) === 400)
  await until('the error is of 400', async () => (await service.error())?.ratings === 400)
  await service.publish(model)
  await service.promote(2)
  await service.produce(100)
  await service.again(100)
  await until('its error is of 100', async () => (await service.error(2))?.ratings === 100)
  // Version 1 reads the hundred again: a record that is read again is no repetition of itself.
  await service.promote(1)
  await until('the error is of 500', async () => (await service.error())?.ratings === 500)
  await until('copies are counted', async () => (await service.repeated()) === 600)
  await service.stop()
})
