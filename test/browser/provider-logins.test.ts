import { answered, startIdentityProvider, type TestIdentityProvider } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import * as actions from './actions.ts'
import { addAxe, findFaults } from './accessible.ts'
import { shown } from './shown.ts'
import { postJson, startInstance, type Instance } from './start-instance.ts'

const password = 'a long password'
const name = 'University'
const logInButton = shown('Log in with {provider}', { provider: name })
const icon = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')}`

/** Contract: 3, Identity providers. */
describe('logging in with an identity provider in the browser', () => {
  const resources = new AsyncDisposableStack()
  let provider: TestIdentityProvider
  let instance: Instance
  let browser: Browser
  let admin: string

  before(async () => {
    provider = resources.use(
      await startIdentityProvider({
        accounts: [
          { sub: 'ada-1', preferred_username: 'Ada', name: 'Ada Lovelace' },
          { sub: 'bob-1', preferred_username: 'bob' },
          { sub: 'eve-1', preferred_username: 'eve' },
        ],
      }),
    )
    const { issuer, clientId, clientSecret } = provider
    const providers = [{ id: 'university', name, issuer, clientId, clientSecret, icon }]
    instance = resources.use(await startInstance('providers', { providers }))
    const first = await answered(postJson(instance, '/api/auth/register', { username: 'first', password }))
    admin = ((await first.json()) as { token: string }).token
    browser = resources.adopt(await launchChromium(), (open) => open.close())
  })
  after(() => resources.disposeAsync())

  const open = (path: string) => actions.openPage(browser, instance, { path, prepare: addAxe })

  async function identifyAs(page: Page, sub: string): Promise<void> {
    await page.waitForURL(`${provider.issuer}/**`)
    await page.getByLabel('Account').fill(sub)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.waitForURL(`${instance.origin}/**`)
  }

  const answerProviders = (page: Page, body: object, ready = Promise.resolve()) =>
    page.route('**/api/auth/providers', async (route) => {
      await ready
      await route.fulfill({ json: body })
    })

  const waitForLogin = (page: Page) => page.getByRole('button', { name: logInButton }).waitFor()

  it('makes an account at the first login, and opens it at the next, back where the person wanted to be', async () => {
    const page = await open('/settings/sessions')
    await actions.click(page, logInButton)
    await identifyAs(page, 'ada-1')
    await actions.waitForText(page, shown('{username} is available.', { username: 'ada' }))
    expect(page.url()).to.equal(`${instance.origin}/sign-in`)
    expect(await page.getByLabel(/^Display name/).inputValue()).to.equal('Ada Lovelace')
    expect(await findFaults(page)).to.deep.equal([])
    await actions.fillField(page, 'Username', 'first')
    await actions.waitForText(page, 'That username is taken.')
    await actions.fillField(page, 'Username', 'ada')

    await actions.click(page, 'Create account')

    await page.waitForURL('**/settings/sessions')
    await actions.waitForText(page, 'Login history')
    await actions.logOut(page)
    await actions.click(page, logInButton)
    await identifyAs(page, 'ada-1')
    await actions.waitForHomePage(page)
    await page.context().close()
  })

  /** Contract: 3, Approval. */
  it('waits for an admin where accounts are approved, and then logs in with the provider', async () => {
    await instance.runSql('update instance_settings set approval_required = true')
    const page = await open('/login')
    await actions.click(page, logInButton)
    await identifyAs(page, 'eve-1')
    await actions.waitForText(page, shown('{username} is available.', { username: 'eve' }))
    await page.getByLabel(shown('Why do you want to join?')).fill('I study here.')
    expect(await findFaults(page)).to.deep.equal([])

    await actions.click(page, 'Create account')

    await actions.waitForText(page, 'Waiting for approval')
    const bearer = { headers: { authorization: `Bearer ${admin}` } }
    const api = `http://127.0.0.1:${instance.port}/api/admin/registrations`
    const { registrations } = (await (await fetch(api, bearer)).json()) as {
      registrations: { id: string; username: string; reason: string; provider: string }[]
    }
    expect(registrations[0]).to.include({ username: 'eve', reason: 'I study here.', provider: 'university' })
    await answered(postJson(instance, `/api/admin/registrations/${registrations[0]?.id}/approve`, {}, admin))
    await instance.runSql('update instance_settings set approval_required = false')
    await page.reload()
    await actions.waitForText(page, 'You’re in')
    await actions.click(page, logInButton)
    await identifyAs(page, 'eve-1')
    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('tells of a login that was canceled, and goes on from there', async () => {
    const page = await open('/login')
    await waitForLogin(page)
    expect(await findFaults(page)).to.deep.equal([])
    await actions.click(page, logInButton)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await actions.waitForText(page, 'The login was canceled.')
    expect(page.url()).to.equal(`${instance.origin}/sign-in`)
    expect(await findFaults(page)).to.deep.equal([])

    await actions.click(page, shown('Log in with {provider} again', { provider: name }))
    await identifyAs(page, 'ada-1')

    await actions.waitForHomePage(page)
    await page.context().close()
  })

  it('takes no ticket that somebody else has sent', async () => {
    const page = await actions.openPage(browser, instance, '/login')
    await waitForLogin(page)
    const sent: string[] = []
    page.on('request', (request) => sent.push(new URL(request.url()).pathname))
    const foreign = `#ticket=${'a'.repeat(43)}&purpose=login&provider=university&state=s`

    await page.goto('about:blank')
    await page.goto(`${instance.origin}/sign-in${foreign}`)

    await actions.waitForText(page, 'This login took too long or was started in another tab. Try again.')
    expect(page.url()).to.equal(`${instance.origin}/sign-in`)
    expect(sent).to.include('/api/auth/providers').and.not.include('/api/auth/providers/finish')
    await page.context().close()
  })

  it('brings the invite along where registration is closed, and what was typed when the ticket has ended', async () => {
    const invite = await postJson(instance, '/api/admin/invites', { name: 'Club', maxUses: 1, expiresAt: null }, admin)
    const { token } = (await invite.json()) as { token: string }
    const settings = { method: 'PATCH', body: JSON.stringify({ registrationOpen: false }) }
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    await answered(fetch(`http://127.0.0.1:${instance.port}/api/settings/instance`, { ...settings, headers }))
    const page = await open(`/register?invite=${token}`)
    await actions.click(page, shown('Continue with {provider}', { provider: name }))
    await identifyAs(page, 'bob-1')
    await page.getByLabel('Invite link').waitFor()
    expect(await page.getByLabel('Invite link').inputValue()).to.equal(token)
    await actions.fillField(page, 'Username', 'bobby')
    await instance.runSql('delete from provider_tickets')
    await actions.click(page, 'Create account')
    await actions.click(page, shown('Log in with {provider} again', { provider: name }))
    await identifyAs(page, 'bob-1')
    await page.getByLabel('Invite link').waitFor()
    expect(await page.getByLabel(shown('Username')).inputValue()).to.equal('bobby')

    await actions.click(page, 'Create account')

    await actions.waitForHomePage(page)
    await answered(
      fetch(`http://127.0.0.1:${instance.port}/api/settings/instance`, {
        method: 'PATCH',
        body: JSON.stringify({ registrationOpen: true }),
        headers,
      }),
    )
    await page.context().close()
  })

  it('asks for the code of the second factor', async () => {
    const page = await open('/login')
    const asked: unknown[] = []
    await page.route('**/api/auth/providers/finish', async (route) => {
      const body = route.request().postDataJSON() as { code?: string }
      asked.push(body.code)
      const code = body.code ? 'second_factor_wrong' : 'second_factor_required'
      if (body.code !== '123456') await route.fulfill({ status: 401, json: { error: code, statusCode: 401, code } })
      else await route.continue({ postData: JSON.stringify({ ...body, code: undefined }) })
    })
    await actions.click(page, logInButton)
    await identifyAs(page, 'ada-1')
    await actions.fillField(page, 'Authentication code', '000000')
    await actions.click(page, 'Log in')
    await page.locator('[aria-invalid=true]').waitFor()
    expect(await findFaults(page)).to.deep.equal([])
    await actions.fillField(page, 'Authentication code', '123456')

    await actions.click(page, 'Log in')

    await actions.waitForHomePage(page)
    expect(asked).to.deep.equal([undefined, '000000', '123456'])
    await page.context().close()
  })

  it('shows the password form only when it is known that passwords are on', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const context = await browser.newContext()
    const page = await context.newPage()
    await answerProviders(page, { providers: [], passwords: true }, promise)
    await page.goto(`${instance.origin}/login`)
    await page.getByRole('heading', { name: shown('Log in') }).waitFor()
    const form = page.getByLabel(shown('Password'), { exact: true })
    expect(await form.count()).to.equal(0)

    resolve()

    await form.waitFor()
    await context.close()
  })

  it('goes straight to the only provider where passwords are off, but not after a logout or another choice', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await answerProviders(page, { providers: [{ id: 'university', name }], passwords: false })
    await page.goto(`${instance.origin}/login`)
    await identifyAs(page, 'ada-1')
    await actions.waitForHomePage(page)

    await actions.logOut(page)
    await waitForLogin(page)
    expect(await page.getByLabel(shown('Password'), { exact: true }).count()).to.equal(0)
    await actions.click(page, logInButton)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('link', { name: shown('Other ways to log in') }).click()

    await waitForLogin(page)
    expect(new URL(page.url()).pathname).to.equal('/login')
    await context.close()
  })
})
