import { textFormat } from '../../core/formats/text.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { AlsRow } from '../als/row.ts'
import { formatTextRow, parseTextRow } from '../als/text-row.ts'
import { formatTextWeight, type LinearWeight, parseTextWeight } from '../linear/weights.ts'

/** Rows of an ALS model as the ancestor's text, `<id>,U|I,f1;f2;...`, one a record. */
export const alsTextRowFormat: Serializer<AlsRow> = textFormat<AlsRow>({
  id: 'als-text-row/1',
  parse: (text) => parseTextRow(text),
  format: formatTextRow,
})

/** Weights of a linear model as the ancestor's text, `<featureId>,<weight>`, one a record. */
export const textWeightFormat: Serializer<LinearWeight> = textFormat<LinearWeight>({
  id: 'linear-text-weight/1',
  parse: (text) => parseTextWeight(text),
  format: formatTextWeight,
})
