import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import sharp from 'sharp'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const admin = { username: 'alice', password: 'a long password' }

describe('the look of an instance', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = resources.use(await startInstance('look'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    await answered(postJson(instance, '/api/auth/register', admin))
  })

  after(() => resources.disposeAsync())

  it('is what an admin sets: in titles at once, and where one logs in and registers', async () => {
    const picture = await sharp({ create: { width: 90, height: 30, channels: 3, background: '#aa3355' } })
      .png()
      .toBuffer()
    const page = await actions.openPage(browser, instance, '/login?redirect=/admin/settings')
    await actions.logIn(page, admin)
    await actions.fillField(page, 'Instance name', 'The Choir')
    await actions.click(page, 'Save name')
    await page.waitForFunction(() => document.title.endsWith('· The Choir'))
    await actions.fillField(page, 'About this instance', 'Songs for\nfour voices')
    await actions.click(page, 'Save description')
    await actions.fillField(page, 'Rules for everyone', 'Be kind.\nSing in tune.')
    await actions.click(page, 'Save rules')
    await actions.fillField(page, 'Usernames nobody can register', 'choir choir_*')
    await actions.click(page, 'Add common ones')
    await actions.click(page, 'Save usernames')
    await page
      .locator('input[name=logo]')
      .setInputFiles({ name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no picture') })
    await page.locator('.row-error, .form-message--error').first().waitFor()
    await page.locator('input[name=logo]').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: picture })
    await page.getByRole('link').getByRole('img', { name: 'The Choir' }).waitFor()

    for (const path of ['/login', '/register']) {
      const visitor = await actions.openPage(browser, instance, path)
      await actions.waitForText(visitor, 'Songs for four voices')
      await visitor.getByText(shown('Rules'), { exact: true }).click()
      await actions.waitForText(visitor, 'Sing in tune.')
      const logo = visitor.getByRole('img', { name: 'The Choir' })
      expect(await logo.evaluate((image: HTMLImageElement) => image.naturalWidth), path).to.equal(90)
      await visitor.context().close()
    }
    const visitor = await actions.openPage(browser, instance, '/register')
    await actions.fillField(visitor, 'Username', 'choir_1')
    await actions.waitForText(visitor, 'That username is taken.')
    await visitor.context().close()
    await page.context().close()
  })

  it('keeps texts on and in any accent color readable in both themes', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const { faint, shades } = await page.evaluate(() => {
        const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
        const luminance = (color: string) => {
          canvas.fillStyle = color
          canvas.fillRect(0, 0, 1, 1)
          const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
          const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((value) => linear(value / 255))
          return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
        }
        const probe = document.body.appendChild(document.createElement('i'))
        const shadeOf = (name: string) => {
          probe.style.color = `var(--color-${name})`
          return luminance(getComputedStyle(probe).color)
        }
        const contrast = (one: number, other: number) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
        const steps = ['00', '55', 'aa', 'ff']
        const colors = steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${red}${green}${blue}`)))
        const shades = new Set<number>()
        const faint = colors.flatMap((color) => {
          document.documentElement.style.setProperty('--accent', color)
          shades.add(shadeOf('primary'))
          return ['primary', 'primary-hover'].flatMap((name) =>
            ['on-primary', 'background', 'surface', 'surface-raised', 'primary-subtle'].flatMap((behind) => {
              const found = contrast(shadeOf(name), shadeOf(behind))
              return found < 4.5 ? [`${color}: ${name} with ${behind} ${found.toFixed(2)}`] : []
            }),
          )
        })
        probe.remove()
        return { faint, shades: shades.size }
      })

      expect(faint, colorScheme).to.deep.equal([])
      expect(shades).to.be.above(20)
    }
    await page.context().close()
  })
})
