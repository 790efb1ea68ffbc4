import { answered } from '@gatehouse/test-kit'
import { launchChromium } from '@gatehouse/test-kit/browser'
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { shown } from './shown.ts'
import { postJson, sharedInstance, type Instance } from './start-instance.ts'
import * as actions from './actions.ts'

const password = 'a long password'

describe('the presence of friends in the browser', () => {
  const resources = new AsyncDisposableStack()
  let instance: Instance
  let browser: Browser

  before(async () => {
    instance = await sharedInstance()
    browser = await launchChromium()
    resources.defer(() => browser.close())
    for (const username of ['alma', 'gloria'])
      await answered(postJson(instance, '/api/auth/register', { username, password }))
    await instance.addFriendship('alma', 'gloria')
  })

  after(() => resources.disposeAsync())

  it('shows a friend as online while connected, then as offline', async () => {
    const alma = await openHome('alma')
    const gloria = await openHome('gloria')

    const friend = alma.getByRole('listitem').filter({ hasText: '@gloria' })
    await friend.getByText(shown('Online')).waitFor()
    await gloria.context().close()
    await friend.getByText(shown('Offline')).waitFor()

    expect(await alma.getByText(shown('{count} online', { count: 0 })).count()).to.equal(1)
    await alma.context().close()
  })

  async function openHome(username: string): Promise<Page> {
    const reply = await answered(postJson(instance, '/api/auth/login', { username, password }))
    const { token } = (await reply.json()) as { token: string }
    const page = await actions.openPage(browser, instance, { path: '/channels/@me', token })
    await actions.waitForHomePage(page)
    return page
  }
})
