/** A grey image, row by row; 0 is black, 1 is white. */
export interface GreyImage {
  readonly width: number
  readonly height: number
  readonly pixels: Float32Array
}

/** A rectangle of an image. */
export interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** The part of an image in a box, scaled to a size by averages of the four nearest pixels. */
export function scaled(image: GreyImage, box: Box, width: number, height: number): GreyImage {
  const pixels = new Float32Array(width * height)
  const at = (x: number, y: number): number =>
    image.pixels[
      Math.min(image.height - 1, Math.max(0, y)) * image.width +
        Math.min(image.width - 1, Math.max(0, x))
    ]!
  for (let row = 0; row < height; row++) {
    const y = box.top + ((row + 0.5) * box.height) / height - 0.5
    for (let column = 0; column < width; column++) {
      const x = box.left + ((column + 0.5) * box.width) / width - 0.5
      const [x0, y0] = [Math.floor(x), Math.floor(y)]
      const [dx, dy] = [x - x0, y - y0]
      const upper = at(x0, y0) * (1 - dx) + at(x0 + 1, y0) * dx
      const lower = at(x0, y0 + 1) * (1 - dx) + at(x0 + 1, y0 + 1) * dx
      pixels[row * width + column] = upper * (1 - dy) + lower * dy
    }
  }
  return { width, height, pixels }
}

/** The image turned by 180 degrees. */
export function turned({ width, height, pixels }: GreyImage): GreyImage {
  return { width, height, pixels: pixels.toReversed() }
}

/** Three equal colour planes, each less its mean and divided by its deviation: what the models take. */
export function planesOf(
  { pixels }: GreyImage,
  means: readonly number[],
  deviations: readonly number[],
): Float32Array {
  const planes = new Float32Array(3 * pixels.length)
  means.forEach((mean, plane) => {
    pixels.forEach((value, i) => {
      planes[plane * pixels.length + i] = (value - mean) / deviations[plane]!
    })
  })
  return planes
}

/** Rectangles around connected pixels above a threshold, from the top to the bottom. */
export function boxesAbove({ width, height, pixels }: GreyImage, threshold: number): Box[] {
  const seen = new Uint8Array(pixels.length)
  const boxes: Box[] = []
  pixels.forEach((value, start) => {
    if (value <= threshold || seen[start] === 1) return
    let [left, right, top, bottom] = [width, 0, height, 0]
    const open = [start]
    seen[start] = 1
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)]
      left = Math.min(left, x)
      right = Math.max(right, x)
      top = Math.min(top, y)
      bottom = Math.max(bottom, y)
      for (const [next, isInside] of [
        [at - 1, x > 0],
        [at + 1, x < width - 1],
        [at - width, y > 0],
        [at + width, y < height - 1],
      ] as const) {
        if (!isInside || seen[next] === 1 || pixels[next]! <= threshold) continue
        seen[next] = 1
        open.push(next)
      }
    }
    boxes.push({ left, top, width: right - left + 1, height: bottom - top + 1 })
  })
  return boxes.filter((box) => box.width > 8 && box.height > 4).sort((a, b) => a.top - b.top)
}

/** The box with a margin: the detector marks the middle of a line. */
export function widened(box: Box): Box {
  const margin = (box.width * box.height * 1.5) / (2 * (box.width + box.height))
  return {
    left: box.left - margin,
    top: box.top - margin,
    width: box.width + 2 * margin,
    height: box.height + 2 * margin,
  }
}
