import * as axes from './axis-rules.ts'
import * as flow from './control-flow.ts'
import * as elements from './elementwise.ts'
import * as gathering from './gathering.ts'
import { MOST_VALUES } from './graph.ts'
import type { Rule } from './operation.ts'
import * as pictures from './pictures.ts'
import * as products from './products.ts'
import * as recurrent from './recurrent.ts'
import * as tables from './row-models.ts'
import * as shapes from './shapes.ts'
import { sizeOf } from './size.ts'

const named = (names: string, rule: Rule): Record<string, Rule> =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, rule]),
  )

/** Operators of ONNX itself, by their name. */
const STANDARD: Readonly<Record<string, Rule>> = {
  ...named(
    `Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot CastLike Ceil Celu Clip Cos Cosh Elu Erf Exp Floor Gelu
     HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin
     Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu`,
    elements.unary,
  ),
  ...named(
    `Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min
     Mod Mul Or PRelu Pow Sub Sum Where Xor`,
    elements.broadcast,
  ),
  ...named('Identity Cast', elements.identity),
  ...named('QuantizeLinear DequantizeLinear', elements.quantized),
  Not: elements.not,
  Dropout: elements.dropout,
  ...named('Softmax LogSoftmax Hardmax', axes.softmax),
  ...named('LayerNormalization RMSNormalization', axes.alongTail(-1)),
  LpNormalization: axes.alongAxis(-1),
  CumSum: axes.alongInput,
  ...named('InstanceNormalization GroupNormalization LRN', axes.alongOthers),
  BatchNormalization: axes.batchNormalization,
  Trilu: axes.alongLastTwo,
  ...named(
    `ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
     ReduceSumSquare`,
    axes.reduce,
  ),
  ...named('ArgMax ArgMin', axes.argReduce),
  TopK: axes.topK,
  Concat: axes.concat,
  Split: axes.split,
  Slice: axes.slice,
  Pad: axes.pad,
  Gather: gathering.gather,
  GatherElements: gathering.gatherElements,
  GatherND: gathering.gatherNd,
  ScatterElements: gathering.scatterElements,
  OneHot: gathering.oneHot,
  MatMul: products.matMul(0, 1),
  MatMulInteger: products.matMul(0, 1),
  QLinearMatMul: products.matMul(0, 3),
  Gemm: products.gemm,
  Einsum: products.einsum,
  ...named('Conv ConvInteger', pictures.convolution(1)),
  QLinearConv: pictures.convolution(3),
  ConvTranspose: pictures.convolution(1, true),
  ...named('MaxPool AveragePool LpPool', pictures.pooling),
  ...named('GlobalAveragePool GlobalMaxPool GlobalLpPool', pictures.globalPooling),
  ...named('DepthToSpace SpaceToDepth', pictures.rearranged),
  GridSample: pictures.gridSample,
  ...named('Resize Upsample', pictures.resize),
  ...named('LSTM GRU RNN', recurrent.recurrent),
  ReverseSequence: recurrent.reverseSequence,
  Shape: shapes.shapeNumbers,
  Size: shapes.sizeNumber,
  Constant: shapes.constant,
  ConstantOfShape: shapes.constantOfShape,
  Transpose: shapes.transpose,
  Unsqueeze: shapes.unsqueeze,
  Squeeze: shapes.squeeze,
  Flatten: shapes.flatten,
  Reshape: shapes.reshape,
  Expand: shapes.expand,
  Tile: shapes.tile,
  Range: shapes.range,
  NonZero: shapes.nonZero,
  If: flow.branch,
  Loop: flow.loop,
  Scan: flow.scan,
}

/** Operators of trees, linear models and features. */
const TABLES: Readonly<Record<string, Rule>> = {
  ...named('Binarizer LabelEncoder', elements.unary),
  ...named('Scaler Imputer Normalizer', tables.rowFeatures),
  ...named('OneHotEncoder', oneHotEncoder),
  ...named('TreeEnsembleClassifier LinearClassifier SVMClassifier', tables.classifier),
  ...named('TreeEnsembleRegressor LinearRegressor SVMRegressor', tables.regressor),
  TreeEnsemble: tables.madeFeatures,
  ArrayFeatureExtractor: gathering.featureExtractor,
  ZipMap: tables.rowMaps,
}

/** Operators that ONNX Runtime adds, which files that it has optimised have. */
const RUNTIME: Readonly<Record<string, Rule>> = {
  ...named('Gelu QuickGelu', elements.unary),
  ...named('BiasGelu FastGelu', elements.broadcast),
  ...named('SkipLayerNormalization SkipSimplifiedLayerNormalization', axes.skipNormalization),
}

const DOMAINS: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  '': STANDARD,
  'ai.onnx.ml': TABLES,
  'com.microsoft': RUNTIME,
}

/** Operators whose outputs are not the same for the same inputs. */
const RANDOM: readonly string[] = [
  'Bernoulli',
  'Multinomial',
  'RandomNormal',
  'RandomNormalLike',
  'RandomUniform',
  'RandomUniformLike',
]

/** The rule of an operator; undefined for one that is not known here. */
export function ruleOf(domain: string, name: string): Rule | undefined {
  const rules = DOMAINS[domain]
  return rules !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined
}

/** Whether the operator draws random numbers. */
export const isRandom = (domain: string, name: string): boolean =>
  domain === '' && RANDOM.includes(name)

/** `OneHotEncoder`: each text or number becomes an axis, which is as long as the list of those that it knows. */
function oneHotEncoder(operation: Parameters<Rule>[0]): ReturnType<Rule> {
  operation.requireNoCounts()
  const { items } = operation.input(0)
  const { attributes } = operation.node
  const texts = attributes.get('cats_strings')?.texts ?? 0
  const known = texts || (attributes.get('cats_int64s')?.numbers.length ?? 0)
  // A longer list of numbers was not read to its end.
  const isRead = texts > 0 || (known > 0 && known <= MOST_VALUES)
  const size = isRead ? sizeOf(known) : operation.anySize()
  return [axes.withItems([...operation.shape(0), size], items)]
}
