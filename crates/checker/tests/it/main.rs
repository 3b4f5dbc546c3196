//! A judge is judged by histories whose truth is known: made by hand, or by a simulated shop.

mod by_hand;
mod scene;
mod shop;
mod simulated;
