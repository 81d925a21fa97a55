import { messageOf } from '../../core/errors.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { boostsIn } from '../../models/item-tags.ts'
import { BOOST_FACTORS } from '../../wire/model-reader.ts'
import { type FlagKind, kindOf } from './flag-kind.ts'

/** A tag with the factor of its boost. */
export const tagFactor: FlagKind = {
  ...kindOf(
    {
      sort: 'pair',
      shown: 'TAG:FACTOR',
      takes: 'a tag and a factor from 0.01 to 100, such as NEW:1.2',
      range: '0.01 to 100',
    },
    (text) => {
      const factor = decimalNumber(text.slice(text.lastIndexOf(':') + 1))
      const { min, max } = BOOST_FACTORS
      return text.lastIndexOf(':') > 0 && factor >= min && factor <= max
    },
  ),
  problemTogether(texts) {
    try {
      boostsIn(texts)
      return undefined
    } catch (error) {
      return `is wrong: ${messageOf(error)}`
    }
  },
}
