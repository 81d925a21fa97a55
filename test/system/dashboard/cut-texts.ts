import type { Page } from 'playwright-core'

/** Texts that are larger than their element, which hides the rest; frames of a flame graph are as wide as their share. */
export async function cutTexts(page: Page): Promise<string[]> {
  return await page.evaluate(() =>
    [...document.querySelectorAll('main *')]
      .filter((element) => {
        const hides = ['hidden', 'clip'].includes(getComputedStyle(element).overflowX)
        const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element
        const isLarger = scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1
        return hides && isLarger && element.closest('.hidden, .flames, .chart > div') === null
      })
      .map(({ textContent }) => textContent ?? ''),
  )
}
