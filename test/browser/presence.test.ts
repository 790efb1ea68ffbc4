import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser } from 'playwright-core'
import { postJson, startInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('the presence of friends in the browser', function () {
  this.timeout(120_000)
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = resources.use(await startInstance('presence'))
    browser = await launchChromium()
    resources.defer(() => browser.close())
    for (const username of ['ada', 'grace'])
      await answered(postJson(instance, '/api/auth/register', { username, password }))
    await instance.addFriendship('ada', 'grace')
  })

  after(() => resources.disposeAsync())

  it('shows a friend as online while connected, then as offline', async () => {
    const ada = await actions.openPage(browser, instance, '/login')
    await actions.logIn(ada, { username: 'ada', password })
    await actions.waitForHomePage(ada)
    const grace = await actions.openPage(browser, instance, '/login')
    await actions.logIn(grace, { username: 'grace', password })
    await actions.waitForHomePage(grace)

    const friend = ada.getByRole('listitem').filter({ hasText: '@grace' })
    await friend.getByText('Online').waitFor()
    await grace.context().close()
    await friend.getByText('Offline').waitFor()

    expect(await ada.getByText('0 online').count()).to.equal(1)
    await ada.context().close()
  })
})
