import { eventually } from '@gatehouse/test-kit'
import type { WebDriver } from '@gatehouse/test-kit/engines'
import { shownText } from './shown.ts'

type Place = {
  /** A row of a list, by a text of it. */
  row?: string
  /** Where a link has the name of a button. */
  selector?: 'button'
}

const buttons = 'button, a[href], summary, label, [type=radio], [type=checkbox]'
const fields = 'input, select, textarea'

/** What the journeys do in a browser. Each act waits until it can be done. */
export type EnginePage = ReturnType<typeof openEnginePage>

export function openEnginePage(browser: WebDriver) {
  /** Runs it in the page. */
  const run = <A extends unknown[], R>(work: (...args: A) => R, ...args: A) =>
    browser.send('execute', { script: `return (${String(work)})(...arguments)`, args }) as Promise<R>

  const wait = async <T>(what: string, check: () => Promise<T>) => {
    try {
      return await eventually(what, check)
    } catch (cause) {
      throw new Error(`${what} is missing: ${await run(readText, null)}`, { cause })
    }
  }

  const act = (what: string, selector: string, { name, row, option }: Target, ...acts: Act[]) =>
    wait(what, async () => {
      const place = {
        name: shownText(name),
        ...(row && { row: shownText(row) }),
        ...(option && { option: shownText(option) }),
      }
      const element = (await run(findElement, { ...place, selector })) as unknown as Record<string, string> | null
      const [id] = Object.values(element ?? {})
      if (!id) return false
      for (const { command, text } of acts) await browser.send(command, { id, ...(text !== undefined && { text }) })
      return true
    })

  /** Of the page, without the window's frame. */
  const resize = async (width: number, height: number) => {
    const frame = await run(() => window.outerHeight - window.innerHeight)
    await browser.send('resize', { width, height: height + frame })
    const size = () => run(() => [window.innerWidth, window.innerHeight])
    await wait(`${width} × ${height}`, async () => String(await size()) === String([width, height]))
  }

  return {
    run,
    resize,
    goTo: (url: string) => browser.send('navigate', { url }),

    /** Clicks a button, a link or the label of a choice. */
    click: (name: string, place: Place = {}) =>
      act(`a click on “${name}”`, place.selector ?? buttons, { name, ...place }, { command: 'click' }),

    /** Types into the field with this label, optional or not, in place of what it has. */
    fill: (name: string, text: string) =>
      act(`a field “${name}”`, fields, { name }, { command: 'clear' }, { command: 'type', text }),

    /** Adds to the field what is typed, for a file input its path. */
    type: (name: string, text: string) => act(`a field “${name}”`, fields, { name }, { command: 'type', text }),

    /** Chooses an option of a list. */
    choose: (name: string, option: string) =>
      act(`“${option}” of “${name}”`, 'select', { name, option }, { command: 'click' }),

    /** Waits until the text is on the page, or in the row. */
    see: (text: string, { row }: Place = {}) =>
      wait(`“${text}”`, async () => (await run(readText, row ? shownText(row) : null)).includes(shownText(text))),

    /** Waits for an element, and gives its value or text. */
    read: (selector: string) => wait(`a text at ${selector}`, () => run(readElement, selector)),

    /** Gives a PNG of the whole page in this width. WebKit may type no more afterwards. */
    takePicture: async (width: number) => {
      await resize(width, 768)
      await wait('the whole page', () => run(isShown))
      const measure = () => run(() => document.documentElement.scrollHeight)
      // What is drawn above a form is higher in a higher window: twice is enough.
      for (const _time of ['first', 'second']) await resize(width, await measure())
      await run(nextFrame)
      const [id = ''] = Object.values(await run(() => document.documentElement)) as string[]
      return Buffer.from((await browser.send('screenshot', { id })) as string, 'base64')
    },
  }
}

type Act = { command: 'click' | 'clear' | 'type'; text?: string }

type Target = Omit<Place, 'selector'> & { name: string; option?: string }

type Search = Target & { selector: string }

/**
 * Runs in the page, as a whole. The first visible element with the name, once it is where the look before found it: a click on a
 * menu that moves would meet its neighbor. Or of it the option with that text.
 */
function findElement({ selector, name, row, option }: Search): Element | null {
  const isNamed = (element: Element) => {
    const labels = [...((element as HTMLInputElement).labels ?? [])].map((label) => label.innerText)
    const texts = [element.getAttribute('aria-label'), ...labels, (element as HTMLElement).innerText]
    return texts.some((text) => text?.replace(/\s+/g, ' ').replace(' (optional)', '').trim() === name)
  }
  const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document
  const rows = [...root.querySelectorAll<HTMLElement>('li')]
  const place = row === undefined ? root : rows.find((item) => item.innerText.includes(row))
  const isUsable = (element: Element) =>
    element.checkVisibility() && !element.matches(':disabled, [aria-disabled=true]')
  const element = [...(place?.querySelectorAll(selector) ?? [])].find((each) => isUsable(each) && isNamed(each))
  const target = element as (Element & { placeBefore?: string }) | undefined
  if (!target) return null
  const { x, y } = target.getBoundingClientRect()
  const [before, now] = [target.placeBefore, `${x} ${y}`]
  target.placeBefore = now
  if (before !== now) return null
  if (option === undefined) return target
  return [...(target as unknown as HTMLSelectElement).options].find(({ text }) => text === option) ?? null
}

/** Runs in the page, as a whole. */
function readText(row: string | null): string {
  const rows = [...document.querySelectorAll('li')].map((item) => item.innerText)
  const text = row === null ? document.body.innerText : rows.find((item) => item.includes(row))
  return text?.replaceAll(/\s+/g, ' ') ?? ''
}

/** Runs in the page, as a whole. */
function readElement(selector: string): string | null {
  const element = document.querySelector<HTMLElement>(selector)
  return (element as HTMLInputElement | null)?.value ?? element?.innerText.trim() ?? null
}

/** Runs in the page, as a whole. */
function isShown(): boolean {
  const isLoaded = [...document.images].every((image) => image.complete)
  return isLoaded && document.querySelector('h1') !== null && document.querySelector('.skeleton') === null
}

/** Runs in the page, as a whole. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))
}
