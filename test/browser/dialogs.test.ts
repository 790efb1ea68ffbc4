import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import sharp from 'sharp'
import { type DialogName, dialogNames } from '../../services/web/src/components/dialog-names.ts'
import { dialogCases, firstOfEachPage } from './dialog-cases.ts'
import {
  expectClosed,
  expectFocus,
  findFaultsOfDialog,
  openByKeyboard,
  prepareDialogs,
  pressButton,
  question,
  testDialog,
} from './dialog-walk.ts'
import { shown } from './shown.ts'

/** Those with a test of their own: they stand in other dialogs, or need an identity provider. */
const otherwise: readonly DialogName[] = ['CropDialog', 'DiscardDialog', 'LinkIdentityDialog']

describe('every dialog by keyboard alone', () => {
  const walk = prepareDialogs('dialogs')

  it('is in this list', () => {
    const tested = [...dialogCases.map(({ component }) => component), ...otherwise]

    expect(dialogNames.filter((name) => !tested.includes(name))).to.deep.equal([])
  })

  it('has a name that no other has, and is made by the one component that shows it', () => {
    const sources = readSources()
    const countUses = (name: string) => sources.join('').split(new RegExp(`['"]${name}['"]`)).length - 1

    expect(dialogNames.filter((name) => countUses(name) !== 1)).to.deep.equal([])
    expect(sources.filter((source) => /<dialog\b/.test(source))).to.have.length(1)
  })

  // dialogs.system.test.ts has the others.
  for (const entry of firstOfEachPage) testDialog(walk, entry)

  it('CropDialog takes the picture with Enter, and Escape leaves the dialog behind it open', async () => {
    const { page } = walk
    const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'teal' } })
      .png()
      .toBuffer()
    const choose = () =>
      page.locator('#avatar-file').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: picture })
    const crop = page.getByRole('dialog', { name: shown('Crop image') })
    await openByKeyboard(walk, dialogCases[0]!)
    await choose()
    await crop.waitFor()
    await expectFocus(walk, 'Use this image')
    await page.keyboard.press('Escape')
    await crop.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: shown('Choose image') }).waitFor()

    await choose()
    await crop.waitFor()
    expect(await findFaultsOfDialog(walk)).to.deep.equal([])
    await page.keyboard.press('Enter')

    await crop.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: shown('Change image') }).waitFor()
    await page.keyboard.press('Escape')
    await question(walk).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expectClosed(walk, 'Edit profile')
    expect(walk.changes).to.deep.equal([])
  })

  it('stays open when a file chooser is cancelled, asks for a switch that was turned, and not when nothing differs', async () => {
    const { page } = walk
    await openByKeyboard(walk, dialogCases[0]!)
    const dialog = page.getByRole('dialog')
    await page.locator('#banner-file').dispatchEvent('cancel', { bubbles: true })
    expect(await dialog.count()).to.equal(1)

    const visible = page.getByRole('switch', { name: shown('Appear in search') })
    await visible.focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')
    await question(walk).waitFor()
    expect(await findFaultsOfDialog(walk)).to.deep.equal([])
    await page.keyboard.press('Enter')
    await question(walk).waitFor({ state: 'detached' })
    await expectFocus(walk, 'Appear in search')
    await page.keyboard.press('Space')
    await page.keyboard.press('Escape')

    await expectClosed(walk, 'Edit profile')
  })

  it('gives the focus back where one dialog follows another', async () => {
    const { page } = walk
    await openByKeyboard(
      walk,
      dialogCases.find(({ component }) => component === 'DeleteAccountDialog')!,
    )
    await pressButton(walk, 'Download your data first')
    await page.getByRole('dialog', { name: shown('Download your data') }).waitFor()
    await expectFocus(walk, 'Your password')

    await page.keyboard.press('Escape')

    await expectClosed(walk, 'Delete account')
  })

  it('comes after the link that skips to the content, the first on every fresh page', async () => {
    const { page } = walk
    for (const path of ['/channels/@me', '/admin/users', '/admin/settings', '/']) {
      await page.goto(walk.instance.origin + path)
      await page.getByRole('contentinfo').getByText(shown('Connected')).waitFor()
      // The frame of a page that still loads looks the same, and goes with what has the focus.
      await eventually('the page is loaded', async () => !(await page.title()).startsWith('Loading…'))
      await page.keyboard.press('Tab')
      await expectFocus(walk, 'Skip to content')
    }
  })
})

/** Of the web app, without the list of the names. */
function readSources(): string[] {
  const folder = join(import.meta.dirname, '../../services/web/src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.tsx'))
  return files.map((file) => readFileSync(join(folder, file), 'utf8'))
}
