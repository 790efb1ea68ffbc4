import { type ComponentChildren, createElement, Fragment, options, type VNode } from 'preact'

/**
 * Every text is the `textContent` of an element that has nothing else. A browser's translation puts elements in the place of
 * text nodes: a change of a text node that has left the page is never shown.
 */
export function giveTextsElements(): void {
  const before = options.vnode
  options.vnode = (vnode: VNode<{ children?: ComponentChildren; textContent?: string }>) => {
    before?.(vnode)
    const { type, props } = vnode
    if (typeof type !== 'string' && type !== Fragment) return
    if (typeof type === 'string' && isText(props.children)) {
      props.textContent = String(props.children)
      props.children = undefined
    } else props.children = wrapTexts(props.children)
  }
}

const isText = (child: ComponentChildren): child is string | number =>
  typeof child === 'number' || (typeof child === 'string' && child.trim() !== '')

function wrapTexts(children: ComponentChildren): ComponentChildren {
  if (Array.isArray(children)) return children.map(wrapTexts)
  return isText(children) ? createElement('span', null, children) : children
}
