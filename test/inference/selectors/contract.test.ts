import { cascade } from '../../../src/inference/selectors/cascade.ts'
import { ensemble } from '../../../src/inference/selectors/ensemble.ts'
import { exp3, exp3Ix } from '../../../src/inference/selectors/exp3.ts'
import { exp4 } from '../../../src/inference/selectors/exp4.ts'
import { exploring } from '../../../src/inference/selectors/exploring.ts'
import { linUcb } from '../../../src/inference/selectors/linucb.ts'
import { ownSelector } from '../../../src/inference/selectors/own-selector.ts'
import { split } from '../../../src/inference/selectors/split.ts'
import { thompson } from '../../../src/inference/selectors/thompson.ts'
import { selectorContract } from './contract.ts'

const LEARNING = { learns: true, isDrawn: true }
const ALL_ARMS = { learns: true, isDrawn: false }
const RULE = { learns: false, isDrawn: false }

selectorContract('exp3', exp3, LEARNING)
selectorContract('exp3 over gains', () => exp3({ form: 'gains' }), LEARNING)
selectorContract('exp3-ix', exp3Ix, LEARNING)
selectorContract('exp3-ix as printed', () => exp3Ix({ share: 0 }), LEARNING)
selectorContract('exp4', exp4, ALL_ARMS)
selectorContract('exp4 as printed', () => exp4({ share: 0 }), ALL_ARMS)
selectorContract('exp4 by votes', () => exp4({ by: 'votes' }), ALL_ARMS)
selectorContract('thompson', thompson, LEARNING)
selectorContract('thompson as printed', () => thompson({ discount: 1 }), LEARNING)
selectorContract('linucb', () => linUcb({ features: 2 }), LEARNING)
selectorContract('split', split, { learns: false, isDrawn: true })
selectorContract('split by weights', () => split({ weights: { stable: 90, fresh: 9, large: 1 } }), {
  learns: false,
  isDrawn: true,
})
selectorContract('cascade', cascade, RULE)
selectorContract('ensemble', ensemble, RULE)
selectorContract('exp3-ix that explores', () => exploring(exp3Ix(), 0.2), LEARNING)
selectorContract('exp4 that explores', () => exploring(exp4(), 0.01), ALL_ARMS)
selectorContract('exp3-ix as a module', () => ownSelector(exp3Ix(), 'bandit.ts#mine'), LEARNING)
