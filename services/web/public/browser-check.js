// For browsers of any age. Both came to the last of the browsers with the versions of tools/browsers/supported-browsers.ts.
// The menus are popovers; lists of users are subgrids.
if (!('popover' in HTMLElement.prototype && CSS.supports('grid-template-columns', 'subgrid'))) {
  const language = /^de/.test(navigator.language) ? 'de' : 'en'
  document.getElementById('outdated-' + language).removeAttribute('hidden')
}
