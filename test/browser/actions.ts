import { buffer } from 'node:stream/consumers'
import type { Browser, Download, Page } from 'playwright-core'
import type { Instance } from './start-instance.ts'

export type Account = { username: string; password: string }

/** Opens a page in a browser context of its own, which shares no storage with the others. */
export async function openPage(browser: Browser, instance: Instance, path = '/'): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(instance.origin + path)
  return page
}

export function click(page: Page, button: string | RegExp): Promise<void> {
  return page.getByRole('button', { name: button }).first().click()
}

/** Clicks a button of the open dialog. */
export function clickInDialog(page: Page, button: string): Promise<void> {
  return page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click()
}

/** Clicks an act in the menu of a user, an invite or a peer. */
export async function clickInMenu(page: Page, name: string, act: string): Promise<void> {
  await click(page, `Actions for ${name}`)
  await click(page, act)
}

/** Fills the field with this label, optional or not. */
export function fillField(page: Page, label: string, text: string): Promise<void> {
  return page.getByLabel(new RegExp(`^${label}( \\(optional\\))?$`)).fill(text)
}

export async function waitForText(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).filter({ visible: true }).first().waitFor()
}

/** Goes through both steps of the registration, starting on the first. */
export async function register(page: Page, { username, password }: Account): Promise<void> {
  await fillField(page, 'Username', username)
  await fillField(page, 'Password', password)
  await fillField(page, 'Password again', password)
  await click(page, 'Continue')
  await click(page, 'Create account')
  await waitForHomePage(page)
}

export async function logIn(page: Page, { username, password }: Account): Promise<void> {
  await fillField(page, 'Username', username)
  await fillField(page, 'Password', password)
  await click(page, 'Log in')
}

export async function waitForHomePage(page: Page): Promise<void> {
  await page.waitForURL('**/channels/@me')
  await waitForText(page, 'Connected instances')
}

export async function changePassword(page: Page, from: string, to: string): Promise<void> {
  await openSettings(page, 'security')
  await fillField(page, 'Current password', from)
  await fillField(page, 'New password', to)
  await fillField(page, 'New password again', to)
  await click(page, 'Change password')
  await waitForText(page, /^Your password was changed\./)
}

/** Goes to a part of the settings without a load. */
export function openSettings(page: Page, part: string): Promise<void> {
  return page.evaluate((path) => {
    history.pushState(null, '', path)
    dispatchEvent(new PopStateEvent('popstate'))
  }, `/settings/${part}`)
}

export async function logOut(page: Page): Promise<void> {
  await click(page, 'Your account')
  await page.getByRole('button', { name: 'Log out', exact: true }).click()
}

/** The browser of the run has its files in another process. */
export async function readDownload(download: Download): Promise<Buffer> {
  return buffer(await download.createReadStream())
}

/** The path after a reload, which depends on whether the stored token is still valid. */
export async function pathAfterReload(page: Page): Promise<string> {
  await page.reload()
  await page.getByRole('heading', { level: 1 }).first().waitFor({ state: 'attached' })
  await page
    .getByText(/Log in|Connected instances/)
    .first()
    .waitFor()
  return new URL(page.url()).pathname
}
