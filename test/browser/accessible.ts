import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { findUnclearNames } from './control-names.ts'

const axeFile = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** A theme changes colors alone, and a width the layout alone: two looks meet each theme and each width. */
const looks = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 320 },
] as const

/** Sends axe to the browser once for all pages that the context opens from now on, and notes what they make text nodes of. */
export async function addAxe(context: BrowserContext): Promise<void> {
  await context.addInitScript({ path: axeFile })
  await context.addInitScript(() => {
    const noted = window as unknown as { textNodes: string[] }
    noted.textNodes = []
    const create = document.createTextNode.bind(document)
    document.createTextNode = (text) => {
      if (text.trim()) noted.textNodes.push(text)
      return create(text)
    }
  })
}

/** The rules of axe that a page of a context with axe violates, or what is `within` it, each with its first place. */
export function findViolations(page: Page, within = 'html'): Promise<string[]> {
  return page.evaluate(async (part) => {
    const { axe } = window as unknown as { axe: Axe }
    const { violations } = await axe.run(part, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => `${id} at ${nodes[0]?.target.join(' ')}`)
  }, within)
}

type Axe = {
  run(
    context: string,
    options: object,
  ): Promise<{ violations: Array<{ id: string; nodes: Array<{ target: string[] }> }> }>
}

type Options = {
  /** A page that repeats its controls, such as a list of endpoints. */
  namesRepeat?: boolean
  /** What axe looks at: the page behind a dialog is inert, and judged without it. */
  within?: string
}

/** What a person with a screen reader, weak eyes, a narrow screen or a password manager cannot use, in both looks. */
export async function findFaults(page: Page, { namesRepeat = false, within }: Options = {}): Promise<string[]> {
  const faults: string[] = []
  for (const { theme, width } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme: theme })
    const findings = [
      ...(await findViolations(page, within)),
      ...(await findUnnamedInputs(page)),
      ...(namesRepeat ? [] : [...(await findUnclearNames(page)), ...(await findTextNodes(page))]),
      ...(await findOverflow(page)),
    ]
    faults.push(...findings.map((fault) => `${theme}, ${width} px: ${fault}`))
  }
  return faults
}

function findOverflow(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const inside = [...document.querySelectorAll('.card, dialog[open], .dialog__body')]
    const wide = inside.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
    const overflow = Math.max(document.documentElement.scrollWidth - window.innerWidth, ...wide)
    return overflow > 0 ? [`${overflow} px too wide`] : []
  })
}

/** Texts that are nodes of their own: where a browser has translated the page, their changes are never shown. */
function findTextNodes(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    (window as unknown as { textNodes: string[] }).textNodes.map((text) => `a text node: ${text}`),
  )
}

/** The inputs that a password manager could not tell apart: without a name or an id of their own, or without autocomplete. */
function findUnnamedInputs(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLInputElement>('input, select, textarea')].flatMap((input) => {
      const label = input.labels?.[0]?.textContent ?? input.outerHTML
      const typed = input.matches('input[type=text], input[type=password], input:not([type])')
      return [
        ...(input.name ? [] : [`no name: ${label}`]),
        ...(input.id && document.querySelectorAll(`[id='${input.id}']`).length === 1
          ? []
          : [`no id of its own: ${label}`]),
        ...(typed && !input.autocomplete ? [`no autocomplete: ${label}`] : []),
      ]
    }),
  )
}
