import type { Browser, Page } from 'playwright-core'
import type { Instance } from './instance.ts'

export type Account = { username: string; password: string }

/** A browser of one's own: storage is shared by its tabs and with no one else. */
export async function openTab(browser: Browser, instance: Instance, path = '/'): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  await page.goto(instance.origin + path)
  return page
}

export function press(page: Page, name: string | RegExp): Promise<void> {
  return page.getByRole('button', { name }).first().click()
}

/** Presses a button of the dialog that is open. */
export function confirm(page: Page, name: string): Promise<void> {
  return page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
}

/** Fills the field of this label, which may be marked as optional. */
export function fill(page: Page, label: string, text: string): Promise<void> {
  return page.getByLabel(new RegExp(`^${label}( \\(optional\\))?$`)).fill(text)
}

export async function see(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor()
}

/** Both steps of the registration, from a page that shows the first. */
export async function register(page: Page, { username, password }: Account): Promise<void> {
  await fill(page, 'Username', username)
  await fill(page, 'Password', password)
  await fill(page, 'Password again', password)
  await press(page, 'Continue')
  await press(page, 'Create account')
  await arriveHome(page)
}

export async function logIn(page: Page, { username, password }: Account): Promise<void> {
  await fill(page, 'Username', username)
  await fill(page, 'Password', password)
  await press(page, 'Log in')
}

export async function arriveHome(page: Page): Promise<void> {
  await page.waitForURL('**/channels/@me')
  await see(page, 'Connected instances')
}

export async function changePassword(page: Page, from: string, to: string): Promise<void> {
  await fill(page, 'Current password', from)
  await fill(page, 'New password', to)
  await fill(page, 'New password again', to)
  await press(page, 'Change password')
  await see(page, 'Your password was changed.')
}

/** Reloads and says where one ends up: the token of the moment decides. */
export async function pathAfterReload(page: Page): Promise<string> {
  await page.reload()
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
  await page
    .getByText(/Log in|Connected instances/)
    .first()
    .waitFor()
  return new URL(page.url()).pathname
}
