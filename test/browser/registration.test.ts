import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import * as actions from './actions.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'

/** Programs that fetch a page to preview its link, as they introduce themselves. */
const previewAgents = {
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)': '*/*',
  'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)': '*/*',
  'TelegramBot (like TwitterBot)': null,
  'WhatsApp/2.23.20.0': 'text/html,*/*',
  'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)': 'text/html, image/*',
} as const

describe('registration at an instance that is closed', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser
  let invite: string
  let tokens: Record<string, string>

  before(async () => {
    instance = resources.use(await startInstance('closed'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    const registered = await answered(postJson(instance, '/api/auth/register', { username: 'alice', password }))
    const { token } = (await registered.json()) as { token: string }
    tokens = {}
    for (const name of ['Friends', 'Expired', 'Exhausted']) {
      const made = await answered(
        postJson(instance, '/api/admin/invites', { name, maxUses: 1, expiresAt: null }, token),
      )
      tokens[name] = ((await made.json()) as { token: string }).token
    }
    invite = tokens['Friends'] ?? ''
    await instance.runSql("update invites set expires_at = now() - interval '1 day' where name = 'Expired'")
    await instance.runSql("update invites set used_count = 1 where name = 'Exhausted'")
    await instance.runSql("update invites set max_uses = 5 where name = 'Friends'")
    await instance.runSql("update instance_settings set registration_open = false, instance_name = 'Rock & <Roll>'")
  })

  after(() => resources.disposeAsync())

  it('asks for the invite first, says why one does not work, and then shows the form', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await actions.waitForText(page, 'You need an invite to create an account.')
    await page.getByRole('link', { name: shown('Use an invite') }).click()
    await page.getByLabel(shown('Invite link')).waitFor()
    expect(await page.getByLabel(shown('Username')).count()).to.equal(0)
    for (const [typed, said] of [
      ['', 'Enter an invite link to continue.'],
      [`${instance.origin}/register?invite=${tokens['Expired']}`, 'This invite has expired.'],
      [tokens['Exhausted'] ?? '', 'This invite has already been used.'],
      ['mistyped', 'This invite link isn’t valid.'],
    ] as const) {
      await actions.fillField(page, 'Invite link', typed)
      await actions.click(page, 'Continue')
      await actions.waitForText(page, said)
    }
    await actions.fillField(page, 'Invite link', `${instance.origin}/register?invite=${invite}`)
    await actions.click(page, 'Continue')
    await actions.waitForText(page, 'Your invite:')
    await actions.register(page, { username: 'grace', password })
    await page.context().close()
  })

  /** Contract: 3, check-username. */
  it('asks whether a name is free while it is closed too, and knows from the answer that it was closed or opened', async () => {
    const setOpen = (isOpen: boolean) => instance.runSql(`update instance_settings set registration_open = ${isOpen}`)
    await setOpen(true)
    const page = await actions.openPage(browser, instance, '/register')
    await actions.fillField(page, 'Username', 'hedy')
    await actions.waitForText(page, shown('{username} is available.', { username: 'hedy' }))

    await setOpen(false)
    await actions.fillField(page, 'Username', 'hedy_2')
    await actions.waitForText(page, 'You need an invite to create an account.')
    await actions.fillField(page, 'Invite link', invite)
    await actions.click(page, 'Continue')
    await actions.waitForText(page, 'Your invite:')
    expect(await page.getByLabel(shown('Username')).inputValue()).to.equal('hedy_2')

    const answer = page.waitForResponse((response) => response.url().endsWith('check-username?username=alice'))
    await actions.fillField(page, 'Username', 'alice')
    expect((await answer).status()).to.equal(403)
    await page
      .getByText(shown('{min} to {max} lowercase letters, numbers or underscores.', { min: 3, max: 32 }))
      .waitFor()
    expect(await page.getByLabel(shown('Username')).getAttribute('aria-invalid')).to.not.equal('true')

    await setOpen(true)
    await actions.fillField(page, 'Username', 'hedy_3')
    await actions.waitForText(page, shown('{username} is available.', { username: 'hedy_3' }))
    expect(await page.getByText(shown('Your invite:')).count()).to.equal(0)
    await setOpen(false)
    await page.context().close()
  })

  it('has its buttons in view on a laptop and on a phone', async () => {
    for (const [width, height] of [
      [1366, 768],
      [360, 640],
    ] as const) {
      const page = await actions.openPage(browser, instance)
      await page.setViewportSize({ width, height })
      for (const path of ['/login', '/register', `/register?invite=${invite}`]) {
        await page.goto(instance.origin + path)
        const button = page.locator('button[type=submit]')
        await button.waitFor()
        const box = await button.boundingBox()
        expect((box?.y ?? 0) + (box?.height ?? height), `${path} at ${width}×${height}`).to.be.at.most(height)
      }
      const picture = await page.locator('.auth__illustration').boundingBox()
      expect(picture?.height ?? 0).to.be.at.most(height)
      await page.context().close()
    }
  })

  it('is previewed with its name by the programs that show links', async () => {
    for (const [agent, accept] of Object.entries(previewAgents)) {
      for (const path of ['/', '/login', `/register?invite=${invite}`]) {
        const response = await fetch(`http://127.0.0.1:${instance.port}${path}`, {
          headers: { 'user-agent': agent, ...(accept && { accept }) },
        })
        const page = await response.text()
        expect([response.status, response.headers.get('content-type')], agent).to.deep.equal([
          200,
          'text/html; charset=utf-8',
        ])
        expect(page).to.include('<meta property="og:title" content="Rock &amp; &lt;Roll>')
        expect(page).to.include('<meta property="og:description" content="')
        const [, picture = ''] = /og:image" content="([^"]+)"/.exec(page) ?? []
        expect(new URL(picture).origin).to.equal(instance.origin)
        const shown = await fetch(`http://127.0.0.1:${instance.port}${new URL(picture).pathname}`)
        expect(shown.headers.get('content-type')).to.equal('image/png')
      }
    }
  })
})
